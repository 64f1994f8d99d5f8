import DNS
import Glibc
import NIOCore
import NIOPosix

/// Answers multicast DNS queries (RFC 6762) over IPv4 on all interfaces. Other responders may run on the same machine.
struct ServiceAnnouncer: Sendable {
    private let announcement: ServiceAnnouncement
    private let endpoints: [Endpoint]

    private struct Endpoint: Sendable {
        let channel: any Channel
        let address: [UInt8]
    }

    private static let port = 5353
    private static let group = "224.0.0.251"

    /// - Parameter problem: reason of a failure; unchanged on success.
    /// - Returns: nil if no interface supports multicast, or another program uses the port exclusively.
    static func start(
        _ announcement: ServiceAnnouncement, on eventLoops: any EventLoopGroup, problem: inout String?
    ) async -> ServiceAnnouncer? {
        var endpoints: [Endpoint] = []
        var failure = "no network interface supports multicast"
        for device in (try? System.enumerateDevices()) ?? [] where device.multicastSupported && endpoints.count < 32 {
            guard case .v4(let address) = device.address else { continue }
            let bytes = withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
            do {
                endpoints.append(
                    Endpoint(channel: try await open(announcement, device, bytes, eventLoops), address: bytes))
            } catch {
                failure = "port \(port) of multicast DNS cannot be used: \(error)"
            }
        }
        guard !endpoints.isEmpty else {
            problem = failure
            return nil
        }
        let announcer = ServiceAnnouncer(announcement: announcement, endpoints: endpoints)
        announcer.announce(isGoodbye: false)
        return announcer
    }

    func stop() async {
        announce(isGoodbye: true)
        for endpoint in endpoints { try? await endpoint.channel.close() }
    }

    private func announce(isGoodbye: Bool) {
        guard let group = try? SocketAddress(ipAddress: Self.group, port: Self.port) else { return }
        for endpoint in endpoints {
            let message = announcement.announcement(address: endpoint.address, isGoodbye: isGoodbye)
            let data = endpoint.channel.allocator.buffer(bytes: message)
            endpoint.channel.writeAndFlush(AddressedEnvelope(remoteAddress: group, data: data), promise: nil)
        }
    }

    private static func open(
        _ announcement: ServiceAnnouncement, _ device: NIONetworkDevice, _ address: [UInt8],
        _ eventLoops: any EventLoopGroup
    ) async throws -> any Channel {
        let group = try SocketAddress(ipAddress: group, port: port)
        let channel = try await DatagramBootstrap(group: eventLoops)
            .channelOption(.socketOption(.so_reuseaddr), value: 1)
            .channelOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: DNSMessage.maximumLength)
            )
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        QueryHandler(announcement, group: group, address: address))
                }
            }
            .bind(host: "0.0.0.0", port: port).get()
        do {
            guard let options = channel as? any SocketOptionProvider, let multicast = channel as? any MulticastChannel
            else { throw ChannelError.operationUnsupported }
            try await multicast.joinGroup(group, device: device).get()
            if case .v4(let own)? = device.address {
                try await options.setIPMulticastIF(own.address.sin_addr).get()
            }
            try await options.setIPMulticastTTL(255).get()
            // Receive packets of this interface only (ip(7)), because the other interfaces have separate sockets.
            try await options.unsafeSetSocketOption(
                level: .ip, name: NIOBSDSocket.Option(rawValue: IP_MULTICAST_ALL), value: CInt(0)
            ).get()
        } catch {
            try? await channel.close()
            throw error
        }
        return channel
    }
}

private final class QueryHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    private let announcement: ServiceAnnouncement
    private let group: SocketAddress
    private let address: [UInt8]

    init(_ announcement: ServiceAnnouncement, group: SocketAddress, address: [UInt8]) {
        (self.announcement, self.group, self.address) = (announcement, group, address)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        let isLegacy = envelope.remoteAddress.port != group.port
        guard let query = try? DNSMessage(reading: envelope.data.readableBytesView),
            let answer = announcement.answer(to: query, isLegacy: isLegacy, address: address)
        else { return }
        let receiver = isLegacy ? envelope.remoteAddress : group
        let buffer = context.channel.allocator.buffer(bytes: answer)
        context.writeAndFlush(wrapOutboundOut(AddressedEnvelope(remoteAddress: receiver, data: buffer)), promise: nil)
    }

    /// Ignores errors, such as from a removed interface.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
