import Glibc

/// The device's own broker: a mosquitto in the lab's internet, on port 1883 and without passwords.
public actor Broker {
    public static let port: UInt16 = 1883

    /// Reached through every access point that is connected to the internet.
    public nonisolated let address: IPv4Address
    private let namespace: NetworkNamespace
    private let directory: String
    private var program: Program?

    init(address: IPv4Address, namespace: NetworkNamespace, directory: String) {
        self.address = address
        self.namespace = namespace
        self.directory = directory
    }

    /// Starts it; returns once it listens.
    public func start() async throws {
        guard program?.isRunning != true else { return }
        let path = "\(directory)/mosquitto.conf"
        try Lab.write("listener \(Self.port)\nallow_anonymous true\nlog_dest stdout\nuser root\n", to: path)
        program = try namespace.enter { () throws(LabError) in
            try Program("mosquitto", ["-c", path], log: "\(directory)/mosquitto.log")
        }
        let (namespace, address) = (namespace, address)
        try await eventually(within: .seconds(20), "the broker to listen") {
            try namespace.isListening(address, port: Self.port)
        }
    }

    /// A crash (SIGKILL): its connections are reset, and new ones are refused.
    public func kill() {
        program?.kill()
        program = nil
    }

    /// It hangs (SIGSTOP): the kernel still acknowledges what arrives, and nobody answers it.
    public func freeze() { program?.freeze() }

    /// It goes on (SIGCONT).
    public func thaw() { program?.thaw() }

    /// What a firewall in front of it does with everything that arrives for it; nil: it lets everything through.
    public func firewall(_ blockage: Blockage?) throws {
        try FirewallRules(inputs: blockage.map { [.port(Self.port, $0)] } ?? [])
            .apply(in: namespace, file: "\(directory)/broker.nft")
    }
}
