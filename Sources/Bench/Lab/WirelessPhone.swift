import AgentModel
import FoundationEssentials

/// A phone with a radio of its own: it joins networks of the device's, or any other, by the real wpa_supplicant.
public actor WirelessPhone {
    private let radio: Radio
    private let namespace: NetworkNamespace
    private let directory: String
    private let log: String
    private let interface: NetworkInterface
    private var supplicant: Program?
    private var pingers: [Pinger] = []

    public nonisolated var address: BSSID { radio.address }

    init(number: Int, radio: Radio, namespace: NetworkNamespace, directory: String) throws(LabError) {
        self.radio = radio
        self.namespace = namespace
        self.directory = "\(directory)/phone\(number)"
        log = "\(directory)/wpa_supplicant.phone\(number).log"
        interface = try namespace.enter { () throws(LabError) in try NetworkInterface(radio.interface) }
    }

    /// Joins a network, and returns when its keys are there.
    /// - Parameter address: its own in there, whose prefix has 24 bits; nil for none.
    public func join(_ network: KnownNetwork, address: IPv4Address?, within limit: Duration) async throws {
        leave()
        let path = "\(directory).conf"
        try Lab.write(
            """
            ctrl_interface=\(directory)
            p2p_disabled=1
            pmf=1
            sae_pwe=2
            \(network.supplicantBlock)

            """, to: path)
        let supplicant = try namespace.enter { () throws(LabError) in
            try Program(
                "wpa_supplicant", ["-t", "-f", log, "-Dnl80211", "-i\(radio.interface)", "-c\(path)"], log: log)
        }
        self.supplicant = supplicant
        try await eventually(within: limit, "a phone to join \(network.ssid)") {
            guard supplicant.isRunning else {
                throw LabError.ended(program: "wpa_supplicant", said: supplicant.lastLines)
            }
            return isJoined
        }
        if let address { try interface.add(address, prefix: 24) }
    }

    /// Whether it is in the network that it was told to join.
    public var isJoined: Bool {
        let control = ControlSocket(path: "\(directory)/\(radio.interface)", directory: Lab.root)
        return (try? control.value(of: "wpa_state", in: "STATUS")) == "COMPLETED"
    }

    /// Leaves without a word.
    public func leave() {
        supplicant?.kill()
        supplicant = nil
    }

    /// Pings an address from now on.
    public func pinger(to address: IPv4Address, every interval: Duration = Pinger.interval) throws -> Pinger {
        let pinger = try namespace.enter { () throws(LabError) in
            try Pinger(target: address, identifier: 0xa15, every: interval)
        }
        pingers.append(pinger)
        return pinger
    }

    func end() {
        pingers.forEach { $0.end() }
        leave()
    }
}
