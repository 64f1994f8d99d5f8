import Glibc

/// A server that the device is there for, in the lab's internet: a mosquitto, or an nginx behind TLS.
public actor InternetServer {
    /// Reached through every access point that is connected to the internet.
    public nonisolated let address: IPv4Address
    public nonisolated let port: UInt16
    private let name: String
    private let arguments: [String]
    private let namespace: NetworkNamespace
    private let directory: String
    private var program: Program?

    /// - Parameter name: the program, which listens on `port` when it is started with `arguments`.
    init(
        _ name: String, _ arguments: [String], at address: IPv4Address, port: UInt16, in namespace: NetworkNamespace,
        directory: String
    ) {
        self.name = name
        self.arguments = arguments
        self.address = address
        self.port = port
        self.namespace = namespace
        self.directory = directory
    }

    /// Starts it; returns once it listens.
    public func start() async throws {
        guard program?.isRunning != true else { return }
        program = try namespace.enter { () throws(LabError) in
            try Program(name, arguments, log: "\(directory)/\(name)\(port).log")
        }
        let (namespace, address, listeningPort) = (namespace, address, port)
        try await eventually(within: .seconds(20), "\(name) to listen") {
            try namespace.isListening(address, port: listeningPort)
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
        var rules = FirewallRules(inputs: blockage.map { [.port(port, $0)] } ?? [])
        rules.table = "inet port\(port)"
        try rules.apply(in: namespace, file: "\(directory)/port\(port).nft")
    }
}
