import AgentModel

extension Scenario.Change {
    /// What happens, in a few words: `home1 loses power`.
    var text: String {
        switch self {
        case .power(let name, let isOn): isOn ? "\(name) has power" : "\(name) loses power"
        case .signal(let name, let level, let time):
            "\(name) goes to \(level) dBm\(time == .zero ? "" : " in \(time.inWords)")"
        case .internet(let name, .online): "\(name) has internet"
        case .internet(let name, .captive): "\(name) asks for a login"
        case .internet(let name, .dead): "\(name) loses its internet"
        case .address(let name, let time):
            time.map { "\(name) gives out addresses in \($0.inWords)" } ?? "\(name) gives out no addresses"
        case .full(let name, let isFull): isFull ? "\(name) is full" : "\(name) has room"
        case .password(let name, _): "\(name) has a new password"
        case .newPassword(let ssid, _): "the device is told the new password of \(ssid)"
        case .move(let point, let time):
            "the device moves to \(point.x.fixed(0)), \(point.y.fixed(0)) in \(time.inWords)"
        case .interference(let range, let loss, let time):
            "\(Int((loss * 100).rounded())) % lost on \(range.lowerBound)-\(range.upperBound) MHz for \(time.inWords)"
        case .command(let ssid, _, _): "command: \(ssid)"
        case .otherUplink(let uplink): uplink.map { "\($0.rawValue) carries the traffic" } ?? "only Wi-Fi is left"
        case .suspend(let time): "the device sleeps for \(time.inWords)"
        case .supplicantDies(let time): "wpa_supplicant dies, back after \(time.inWords)"
        case .restart: "the agent is restarted"
        }
    }
}
