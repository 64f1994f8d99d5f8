import AgentModel
import AppProtocol
import AppServer
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Synchronization

/// A device for the clients of Docs/examples: the agent's own server, with keys for several apps, that opens boxes.
final class ExampleDevice: DeviceService {
    static let id = "bench-01"

    let certificate: DeviceCertificate
    private let keys = ExampleKeys()
    private let opener: SealOpener
    private let opened = Mutex<[Secret]>([])

    init(certificate: DeviceCertificate) {
        self.certificate = certificate
        opener = SealOpener(deviceId: Self.id) { [keys] name, place in
            keys.key(named: name).flatMap { $0.state == .valid && $0.role >= place.role ? $0.secret : nil }
        }
    }

    /// Runs `body` against the device on a port of its own.
    func serve(_ body: (_ port: Int) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "altnet-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var limits = AppServer.LANLimits()
        limits.wrongKeys.waits.first = .milliseconds(10)
        limits.wrongKeys.waits.last = .milliseconds(20)
        let credentials = AppCredentials(deviceId: Self.id, certificate: certificate, keys: keys)
        let server = AppServer(
            unix: UnixListenerSettings(path: folder + "/s"),
            lan: LANListenerSettings(port: 0, credentials: credentials),
            service: self, hub: EventHub(), limits: AppServer.Limits(lan: limits))
        try await server.start()
        let result: Result<Void, any Error>
        do { result = .success(try await body(server.lanPort ?? 0)) } catch { result = .failure(error) }
        await server.stop()
        try result.get()
    }

    func code(_ name: KeyName, isPinned: Bool = true) throws -> String {
        try Self.code(
            name, keys.key(named: name)?.secret ?? ExampleKeys.owner, isPinned ? certificate.fingerprint : nil)
    }

    static func code(_ name: KeyName, _ secret: Secret, _ certificate: CertificateFingerprint?) throws -> String {
        PairingCode(try DeviceKey(deviceId: id, localKey: secret, name: name, certificate: certificate)).uri()
    }

    /// The passwords that came in boxes since the last time.
    func passwords() -> [Secret] {
        opened.withLock { passwords in
            defer { passwords = [] }
            return passwords
        }
    }

    func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body {
        switch request {
        case .getCapabilities:
            return .capabilities(
                Capabilities(maxBackupNetworks: 3, deviceId: Self.id, firmware: "0", features: []))
        case .agreeKey(let query):
            return .key(try opener.key(for: query, of: keys.key(named: query.key ?? .owner)?.secret))
        case .updateBackups(let update):
            for case .new(let network) in update.networks {
                try open(network.credential, in: SealContext(of: network, in: update))
            }
            if case .new(let network)? = update.home?.network {
                try open(network.credential, in: SealContext(of: network, in: update, isHome: true))
            }
            return .backups(BackupList(max: 3, revision: 8, networks: []))
        case .switchNetwork(let request):
            if case .new(let network) = request.target {
                try open(network.credential, in: SealContext(of: network, in: request))
            }
            return .switchStatus(SwitchStatus(switchId: "s-1", phase: .accepted))
        default: throw ProtocolError(.unsupported, "a device for tests")
        }
    }

    private func open(_ credential: NetworkCredential, in context: SealContext) throws(ProtocolError) {
        guard case .sealed(let sealed) = credential else { return }
        let password = try opener.open(sealed, in: context)
        opened.withLock { $0.append(password) }
    }
}

extension KeyName {
    /// May do everything; its bytes are no text.
    static let phone = known("Anna's phone")
    /// May switch.
    static let remote = known(#"Küche "links" \ 2"#)
    static let revoked = known("Old phone")
    static let expired = known("Guest")
    /// The device has none of this name.
    static let unknown = known("Nobody's")

    private static func known(_ text: String) -> KeyName {
        guard let name = KeyName(text) else { preconditionFailure("no name: \(text)") }
        return name
    }
}

struct ExampleKeys: AppKeyDirectory {
    static let owner = Secret(text: "0123456789abcdef0123456789abcdef")

    func key(named name: KeyName) -> AppKey? {
        switch name {
        case .owner: AppKey(name: name, secret: Self.owner, role: .manage)
        case .phone: AppKey(name: name, secret: Secret(Array(UInt8(0)..<32)), role: .manage)
        case .remote: AppKey(name: name, secret: Secret(Array(UInt8(192)...255)), role: .switch)
        case .revoked: AppKey(name: name, secret: Self.owner, role: .manage, state: .revoked)
        case .expired: AppKey(name: name, secret: Self.owner, role: .manage, state: .expired)
        default: nil
        }
    }
}

/// Shows a certificate and greets, and cannot prove that it has a key.
enum Impostor {
    /// Runs `body` with one on a port of its own.
    static func serve(_ body: (_ port: Int) async throws -> Void) async throws {
        let pem = try DeviceCertificate.random().pem.withBytes { Array($0) }
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: NIOSSLCertificate.fromPEMBytes(pem).map { .certificate($0) },
                privateKey: .privateKey(NIOSSLPrivateKey(bytes: pem, format: .pem))))
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        NIOSSLServerHandler(context: context), ImpostorHandler(),
                    ])
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let result: Result<Void, any Error>
        do { result = .success(try await body(channel.localAddress?.port ?? 0)) } catch { result = .failure(error) }
        try await channel.close()
        try result.get()
    }
}

private final class ImpostorHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var received: [UInt8] = []

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case TLSUserEvent.handshakeCompleted = event, let line = try? Greeting(nonce: .random()).line() else {
            return
        }
        write(line, context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytesView
        guard received.last == UInt8(ascii: "\n"), let request = try? Request(line: received.dropLast()),
            case .open(let opening) = request.content
        else { return }
        received = []
        // What it was told is no proof of its own.
        let opened = SessionOpened(proof: opening.proof, role: .manage)
        write(Response(id: request.id, result: .success(.opened(opened))).line(), context)
    }

    private func write(_ line: [UInt8], _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: line + [UInt8(ascii: "\n")])), promise: nil)
    }
}
