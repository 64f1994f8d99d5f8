import AgentModel
import AppProtocol

@testable import Hotspots

/// A sign-in with its clock, and what it wanted last.
struct SignInBench {
    var signIn: SignIn
    var now = Instant(milliseconds: 1000)
    private(set) var actions: [SignIn.Action] = []
    /// The connections that are open, by what they are about; nil for the list.
    private(set) var open: [Int: String?] = [:]

    init(_ settings: HotspotSettings = HotspotSettings()) { signIn = SignIn(settings: settings) }

    static let name: NetworkName = NetworkName(ssid: cafe.ssid, hash: nil)
    static let cafe = network("Cafe")

    static func network(_ name: String) -> CaptiveNetwork {
        guard let ssid = try? SSID(name) else { preconditionFailure("no SSID") }
        return CaptiveNetwork(ssid: ssid, security: .open, interface: "wlan0", portal: "http://10.0.0.1/")
    }

    var state: Portal.State { signIn.status.portal.state }
    var provider: String? { signIn.status.portal.provider }

    @discardableResult mutating func receive(_ input: SignIn.Input) -> [SignIn.Action] {
        if case .failed(let connection, _) = input { open[connection] = nil }
        actions = signIn.handle(input, at: now)
        for action in actions {
            switch action {
            case .list(let number):
                precondition(open.updateValue(nil, forKey: number) == nil, "a connection twice")
            case .open(let number, let provider, _):
                precondition(open.updateValue(provider, forKey: number) == nil, "a connection twice")
            case .ask(let number, _): precondition(open[number] != nil, "asks in a connection that has ended")
            case .end(let number): precondition(open.removeValue(forKey: number) != nil, "ends what is not open")
            }
        }
        return actions
    }

    mutating func captive(_ network: CaptiveNetwork = cafe) { receive(.captive(network, Self.name)) }

    /// Answers the host's list.
    mutating func list(_ names: String...) {
        guard let number = open.first(where: { $0.value == nil })?.key else { return }
        open[number] = nil
        receive(.listed(number, ProviderList(names: names)))
    }

    mutating func answer(_ provider: String, _ answer: ProviderAnswer) {
        guard let number = number(provider) else { return }
        receive(.answered(number, answer))
    }

    mutating func fail(_ provider: String, _ fault: ProviderFault = .ended) {
        guard let number = number(provider) else { return }
        receive(.failed(number, fault))
    }

    /// The connection has ended on the other side.
    mutating func forget(_ number: Int) { open[number] = nil }

    func number(_ provider: String) -> Int? { open.first { $0.value == provider }?.key }

    /// Lets the time of the next deadline come.
    mutating func wait() {
        if let deadline = signIn.deadline { now = max(now, deadline) }
        receive(.timePassed)
    }

    mutating func pass(_ duration: Duration) {
        now = now + duration
        receive(.timePassed)
    }

    /// Up to where `provider` is asked to sign in.
    mutating func chosen(_ provider: String, others: String...) {
        captive()
        guard let number = open.first(where: { $0.value == nil })?.key else { return }
        open[number] = nil
        receive(.listed(number, ProviderList(names: [provider] + others)))
        for other in others { answer(other, .evaluated(.low)) }
        answer(provider, .evaluated(.high))
    }
}
