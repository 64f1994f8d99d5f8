import AgentModel
import AppProtocol

/// How what lies beyond the link reads in a sentence.
enum ConnectivityWording {
    static func problem(_ problem: ReachProblem) -> String {
        switch problem {
        case .noAddress: "no address"
        case .noRoute: "no route"
        case .gatewaySilent: "the gateway does not answer"
        case .noNameServer: "the network names no name server"
        case .nameServerSilent: "no name server answers"
        case .nameUnknown: "there is no such name"
        case .nameServerFailed: "the name server fails"
        case .connectionRefused: "connection refused"
        case .connectionReset: "connection broken off"
        case .unreachable: "no way there"
        case .timedOut: "no answer in time"
        case .tlsFailed: "TLS failed"
        case .unexpectedAnswer: "unexpected answer"
        case .captive: "somebody has to sign in"
        }
    }

    static func internet(_ connectivity: Connectivity) -> (text: String, paint: Style.Paint?) {
        switch connectivity.internet {
        case .yes: ("internet: yes", .green)
        case .no: ("internet: no\(parenthesis(connectivity.problem))", .red)
        case .captive: ("internet: not before somebody signs in", .yellow)
        // Without a source of validation a problem is all that is known.
        case .unknown where connectivity.problem != nil:
            ("internet: not known\(parenthesis(connectivity.problem))", .yellow)
        case .unknown: ("internet: not known", nil)
        }
    }

    /// - Parameter now: to tell since when; nil where that is beside the point.
    static func target(_ target: TargetStatus, now: Timestamp?) -> (text: String, paint: Style.Paint?) {
        let name = target.name.printable
        let age = now.flatMap {
            Wording.duration(milliseconds: $0.millisecondsSince1970 - target.since.millisecondsSince1970)
        }
        let since = age.map { " since \($0)" } ?? ""
        return switch target.state {
        case .ready: ("\(name): answering", .green)
        case .setup, .preparing: ("\(name): connecting\(since)", .yellow)
        case .waiting, .failed: ("\(name): not answering\(since)\(parenthesis(target.reason))", .red)
        case .cancelled: ("\(name): not looked at", nil)
        }
    }

    /// That somebody has to sign in, and where.
    static func wanted(_ portal: Portal) -> String {
        "This network wants somebody to sign in" + (portal.url.map { ": \($0.printable)" } ?? "")
    }

    /// How long the sign-in lasts, as the end of a sentence; empty where that is not known.
    static func rest(of portal: Portal) -> String {
        let time = portal.secondsRemaining.flatMap {
            Wording.duration(milliseconds: Int64(min($0, .max / 1000)) * 1000)
        }
        return time.map { ", for \($0) more" } ?? ""
    }

    /// What a person is asked for, in half a sentence.
    static func request(_ request: PortalRequest) -> String {
        "\(request.network.ssid) asks for something: \(request.title.printable); answer it with 'altnet portal'"
    }

    private static func parenthesis(_ problem: ReachProblem?) -> String {
        problem.map { " (\(self.problem($0)))" } ?? ""
    }
}
