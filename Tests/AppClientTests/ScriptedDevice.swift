import AppClient
import AppProtocol
import Foundation
import NIOCore
import NIOPosix
import TestTime

/// Listens at a socket and answers each request as the test says, or not at all.
final class ScriptedDevice: Sendable {
    /// The answer to a request of this type and id.
    typealias Script = @Sendable (_ type: String, _ id: String) -> [String]

    let endpoint: Endpoint
    private let listener: any Channel
    private let folder: URL
    private let log: RequestLog

    final class RequestLog: Sendable {
        let types = Observed<[String]>([])
    }

    /// Runs `body` while it listens.
    static func with(
        _ script: @escaping Script, isolation: isolated (any Actor)? = #isolation,
        _ body: (ScriptedDevice) async throws -> Void
    ) async throws {
        let device = try await ScriptedDevice(script)
        defer { try? FileManager.default.removeItem(at: device.folder) }
        do {
            try await body(device)
        } catch {
            try? await device.listener.close()
            throw error
        }
        try await device.listener.close()
    }

    private init(_ script: @escaping Script) async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "altnet-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let path = folder.path + "/s"
        let log = RequestLog()
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Answerer(script, log))
                }
            }
            .bind(unixDomainSocketPath: path).get()
        endpoint = .unixSocket(path: path)
        self.log = log
    }

    /// The types of the requests so far, in their order.
    var asked: [String] { log.types.change { $0 } }

    func count(_ type: String) -> Int { asked.count { $0 == type } }

    /// Returns once there have been so many requests of this type.
    func isAsked(_ type: String, times: Int = 1) async throws {
        try await log.types.wait("\(type), \(times) times") { $0.count { $0 == type } >= times }
    }

    static func answer(_ id: String, _ body: String) -> String { #"{"v":1,"id":"\#(id)","ok":true,"body":\#(body)}"# }

    private struct Head: Decodable {
        let type: String
        let id: String
    }

    private final class Answerer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let script: Script
        private let log: RequestLog
        private var lines = LineSplitter()

        init(_ script: @escaping Script, _ log: RequestLog) { (self.script, self.log) = (script, log) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            lines.append(unwrapInboundIn(data).readableBytesView)
            while case .line(let line)? = lines.next() {
                guard let head = try? JSONDecoder().decode(Head.self, from: Data(line)) else { continue }
                log.types.change { $0.append(head.type) }
                for said in script(head.type, head.id) {
                    context.channel.writeAndFlush(ByteBuffer(string: said + "\n"), promise: nil)
                }
            }
        }
    }
}

/// A clock whose every sleep ends when the test says so.
final class GatedClock: Clock {
    let gate = Gate()

    var now: ContinuousClock.Instant { .now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        await gate.pass()
        try Task.checkCancellation()
    }
}

extension DeviceSession.Settings {
    /// For a session whose time passes when the test says so.
    static func moved(by clock: GatedClock) -> Self {
        var settings = Self.quick
        settings.clock = clock
        return settings
    }
}
