import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A ClientHello as `openssl s_client -psk` sends it, with the cipher that the server wants and x25519.
enum TLSBytes {
    static let hello: [UInt8] = {
        let random = [UInt8](repeating: 0x5a, count: 32)
        let ciphers: [UInt8] = [0, 2, 0xcc, 0xac]
        let groups: [UInt8] = [0, 10, 0, 4, 0, 2, 0, 29]
        let points: [UInt8] = [0, 11, 0, 2, 1, 0]
        let secret: [UInt8] = [0, 23, 0, 0]
        let extensions = groups + points + secret
        let body = [3, 3] + random + [0] + ciphers + [1, 0] + length(extensions.count) + extensions
        let handshake = [1, 0] + length(body.count) + body
        return [0x16, 3, 1] + length(handshake.count) + handshake
    }()

    private static func length(_ count: Int) -> [UInt8] { [UInt8(count >> 8), UInt8(count & 0xff)] }
}

/// Stands between a client and the server, and puts bytes of its own in between.
final class BreakingRelay: Sendable {
    let port: Int
    private let listener: any Channel
    private let upstream: Upstream

    private final class Upstream: Sendable {
        let channel = Mutex<(any Channel)?>(nil)
    }

    init(to target: Int) async throws {
        let upstream = Upstream()
        self.upstream = upstream
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { downstream in
                ClientBootstrap(group: downstream.eventLoop)
                    .channelInitializer { $0.pipeline.addHandler(Pipe(to: downstream)) }
                    .connect(host: "127.0.0.1", port: target)
                    .flatMap { channel in
                        upstream.channel.withLock { $0 = channel }
                        return downstream.pipeline.addHandler(Pipe(to: channel))
                    }
                    .flatMap { downstream.setOption(.autoRead, value: true) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
    }

    func inject(_ bytes: [UInt8]) async throws {
        try await upstream.channel.withLock { $0 }?.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    func close() async { try? await listener.close() }

    private final class Pipe: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        private let other: any Channel

        init(to other: any Channel) { self.other = other }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            other.writeAndFlush(unwrapInboundIn(data), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }
    }
}

enum LocalAddress {
    /// An address of this machine that is not the loopback's; nil if it has none.
    static let besidesLoopback: String? = try? System.enumerateDevices().lazy
        .compactMap(\.address).compactMap { address -> String? in
            guard case .v4 = address, let text = address.ipAddress, !text.hasPrefix("127.") else { return nil }
            return text
        }.first
}
