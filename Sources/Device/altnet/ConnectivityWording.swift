import AgentModel
import AppProtocol

/// How what lies beyond the link reads in a sentence.
enum ConnectivityWording {
    /// What lies beyond the link, each in a few words; nothing where the device does not look.
    static func beyond(_ status: NetworkStatus, now: Timestamp) -> [(text: String, paint: Style.Paint?)] {
        guard let connectivity = status.connectivity else { return [] }
        // Without any link there is no way to the internet of which anything could be told.
        let isConnected = status.state == .online || status.uplink != nil
        return (isConnected ? [internet(connectivity)] : []) + connectivity.targets.map { target($0, now: now) }
    }

    private static func internet(_ connectivity: Connectivity) -> (text: String, paint: Style.Paint?) {
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
            Wording.duration(milliseconds: Int64(min(max($0, 0), .max / 1000)) * 1000)
        }
        return time.map { ", for \($0) more" } ?? ""
    }

    /// What a person is asked for, in half a sentence.
    static func request(_ request: PortalRequest) -> String {
        "\(request.network.ssid) asks for something: \(request.title.printable); answer it with 'altnet portal'"
    }

    private static func parenthesis(_ problem: ReachProblem?) -> String {
        problem.map { " (\($0.words))" } ?? ""
    }
}
