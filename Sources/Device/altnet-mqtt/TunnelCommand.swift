import AgentModel
import AppProtocol
import ArgumentParser
import BrokerIO
import Glibc
import Linux
import MQTTBridge

struct TunnelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tunnel",
        abstract: "Connect an app with a device through the broker.",
        discussion: """
            'altnet --broker' and the library AppClient run this command. Standard input must be a socket. It carries \
            both directions of the app's TLS connection with the device, which the broker cannot decrypt. \
            Docs/integrator/fleet.md describes the messages.

            EXIT STATUS
              0   the app or the device has closed the connection
              64  the command line is wrong
              69  the broker or the device does not answer
              78  the broker's address or the files with secrets are invalid

            ENVIRONMENT
              ALTNET_MQTT_BROKER, ALTNET_MQTT_USER, ALTNET_MQTT_SECRETS, ALTNET_MQTT_PREFIX  in place of the options
            """)

    @OptionGroup var broker: BrokerArguments

    @Option(help: ArgumentHelp("The device's id.", valueName: "id"))
    var id: String

    func validate() throws {
        guard ProtocolLimits.deviceIdLength.contains(id.utf8.count), id.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else { throw ValidationError("--id must have 1 to 64 printable characters") }
    }

    func run() throws {
        limitMemory()
        let options = try broker.options()
        guard let address = options.broker else { throw ExitCode(EX_CONFIG) }
        var random = SystemRandomNumberGenerator()
        let tunnel = Hex.string((0..<16).map { _ in random.next() as UInt8 })
        let hello = BrokerHello(
            clientID: "altnet-app-" + tunnel, keepAlive: .seconds(60), sessionExpiry: .zero,
            maximumPacket: BridgeLimits.packet, receiveMaximum: BridgeLimits.inFlight, will: nil, willDelay: .zero)
        let link: BrokerConnection
        do {
            let secrets = try BrokerSecrets(folder: options.secrets, credentials: nil)
            link = try BrokerConnection(hello, to: address, user: options.user, secrets)
        } catch {
            complain("\(error)")
            throw ExitCode(EX_CONFIG)
        }
        let topics = Topics(prefix: options.bridge.prefix, deviceId: id)
        var runner = TunnelRunner(AppTunnel(topics, id: tunnel, at: .now), through: link)
        if let problem = runner.run() {
            complain(problem)
            throw ExitCode(EX_UNAVAILABLE)
        }
    }
}

/// Runs an ``AppTunnel``: passes events in and performs its effects in their order.
private struct TunnelRunner {
    private var tunnel: AppTunnel
    private let link: BrokerConnection
    private let app = ByteSocket(STDIN_FILENO, longestOutput: 1 << 20)
    private var published = 0
    private var outcome: Result<Void, Ended>?

    private struct Ended: Error { let problem: String }

    init(_ tunnel: AppTunnel, through link: BrokerConnection) { (self.tunnel, self.link) = (tunnel, link) }

    /// - Returns: the problem that ended the tunnel; nil if an end has closed it.
    mutating func run() -> String? {
        while outcome == nil { turn() }
        link.close(isGoodbye: true)
        let end = Instant.now + .seconds(2)
        while app.hasOutput, end > .now, Readiness.wait(for: app.waits(for: nil), within: end - .now) == [true] {
            guard app.flush() else { break }
        }
        if case .failure(let ended)? = outcome { return ended.problem }
        return nil
    }

    private mutating func turn() {
        let reads = tunnel.readsApp
        let appWaits = app.waits(for: reads ? .readable : .hungUp)
        let linkWaits = [link.wait].compactMap(\.self)
        let limits = [tunnel.deadline - .now, link.patience].compactMap(\.self)
        let isReady = Readiness.wait(for: appWaits + linkWaits, within: limits.min())
        if isReady.prefix(appWaits.count).contains(true) {
            let hasFailed = !app.flush()
            if !reads, isReady[0] || hasFailed {
                handle(.appClosed)
            } else if reads {
                switch app.read() {
                case .bytes(let bytes): handle(.appSaid(bytes))
                case .ended: handle(.appClosed)
                case .nothing: break
                }
            }
        }
        link.proceed(isReady: isReady.dropFirst(appWaits.count).contains(true))
        for event in link.drainEvents() {
            switch event {
            case .brokerAccepted: handle(.brokerAccepted)
            case .brokerFailed(let failure): handle(.brokerFailed(failure.text))
            case .acknowledged: handle(.acknowledged)
            case .publishRefused(_, let reason), .subscriptionRefused(let reason):
                handle(.brokerFailed("the broker refused a message or a subscription: \(reason)"))
            case .message(let message): handle(.message(message))
            default: break
            }
        }
        if tunnel.deadline <= .now { handle(.tick) }
    }

    private mutating func handle(_ event: AppTunnel.Event) {
        for effect in tunnel.handle(event, at: .now) {
            switch effect {
            case .subscribe(let subscription): link.subscribe([subscription])
            case .publish(let message):
                published = published == Int(UInt16.max) ? 1 : published + 1
                link.publish(published, message)
            case .write(let bytes): app.write(bytes)
            case .over(let problem): outcome = problem.map { .failure(Ended(problem: $0)) } ?? .success(())
            }
        }
    }
}
