/// A phone with a separate radio. It joins networks with the real wpa_supplicant, gets an address by DHCP, and has a
/// browser.
public actor WirelessPhone {
    private let radio: Radio
    nonisolated let namespace: NetworkNamespace
    private let directory: String
    private let name: String
    private let interface: NamespaceInterface
    private var supplicant: Program?
    private var dhcpcd: Program?
    private var guests: [Program] = []
    private var pingers: [Pinger] = []

    public nonisolated var interfaceName: String { radio.interface }

    init(number: Int, radio: Radio, namespace: NetworkNamespace, directory: String) throws(LabError) {
        (self.radio, self.namespace, self.directory) = (radio, namespace, directory)
        name = "phone\(number)"
        interface = try namespace.enter { () throws(LabError) in
            // Switch loopback on: requests to chromedriver use it.
            try NamespaceInterface("lo").setUp(true)
            return try NamespaceInterface(radio.interface)
        }
        try radio.setReceivedSignal(-45)
    }

    // MARK: Network

    /// Joins a network, and returns when the key handshake is complete. wpa_supplicant joins again whenever the network
    /// returns.
    /// - Parameter address: static address with a prefix of 24 bits; nil for no address, or for DHCP by
    ///   ``address(within:)``.
    public func join(_ network: ConfiguredNetwork, address: IPv4Address? = nil, within limit: Duration) async throws {
        leave()
        let path = "\(directory)/\(name).conf"
        try Lab.write(
            """
            ctrl_interface=\(controlDirectory)
            p2p_disabled=1
            pmf=1
            sae_pwe=2
            \(network.supplicantBlock)

            """, to: path)
        let supplicant = try start(
            "wpa_supplicant", ["-t", "-Dnl80211", "-i\(radio.interface)", "-c\(path)"],
            log: "wpa_supplicant.\(name)")
        self.supplicant = supplicant
        try await eventually(within: limit, "\(name) to join \(network.ssid)") {
            guard supplicant.isRunning else {
                throw LabError.ended(program: "wpa_supplicant", said: supplicant.lastLines)
            }
            return isJoined
        }
        if let address { try interface.add(address, prefix: 24) }
    }

    public var isJoined: Bool {
        let control = ControlSocket(path: "\(controlDirectory)/\(radio.interface)", directory: Lab.root)
        return (try? control.value(of: "wpa_state", in: "STATUS")) == "COMPLETED"
    }

    /// Gets an address by DHCP and keeps renewing it. Returns when the phone has a route to its network.
    public func address(within limit: Duration) async throws -> IPv4Address {
        let path = "\(directory)/\(name).dhcpcd.conf"
        try Lab.write("ipv4only\nnoipv4ll\nnoarp\nnodelay\nscript /bin/true\n", to: path)
        if dhcpcd?.isRunning != true {
            dhcpcd = try start("dhcpcd", ["-B", "-d", "-f", path, radio.interface], log: "dhcpcd.\(name)")
        }
        var found: IPv4Address?
        try await eventually(within: limit, "\(name) to have an address") {
            found = interface.address
            // Wait for the route, which dhcpcd adds a moment after the address.
            return try found.map { try namespace.hasRoute(to: IPv4Address(value: $0.value ^ 1)) } ?? false
        }
        guard let found else { throw LabError.timedOut(what: "an address", limit: limit) }
        return found
    }

    public func leave() {
        supplicant?.kill()
        dhcpcd?.kill()
        (supplicant, dhcpcd) = (nil, nil)
    }

    // MARK: User

    public func pinger(to address: IPv4Address, every interval: Duration = Pinger.interval) throws -> Pinger {
        let pinger = try namespace.enter { () throws(LabError) in
            try Pinger(target: address, identifier: 0xa15, every: interval)
        }
        pingers.append(pinger)
        return pinger
    }

    /// Starts a program on the phone. The phone's end also ends the program. The output goes to `<log>.log` in the
    /// lab's records.
    public func run(_ path: String, _ arguments: [String], log: String) throws -> Program {
        let program = try start(path, arguments, log: log)
        guests.append(program)
        return program
    }

    // MARK: Internals

    private var controlDirectory: String { "\(directory)/\(name)" }

    private func start(_ program: String, _ arguments: [String], log: String) throws(LabError) -> Program {
        try namespace.enter { () throws(LabError) in
            try Program(program, arguments, log: "\(directory)/\(log).log")
        }
    }

    func end() {
        pingers.forEach { $0.end() }
        for guest in guests { guest.kill() }
        leave()
    }
}
