import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A socket that sends to every responder of multicast DNS behind one interface, from one of its addresses.
struct MulticastSocket {
    let channel: any Channel
    private let group: SocketAddress

    /// The port of multicast DNS, from which every answer comes (RFC 6762, 6).
    static let port = 5353

    /// - Parameter receive: is given what arrives from that port, with the interface's name.
    /// - Returns: nil for an interface that takes no multicast, and for an address of it that is of no use here.
    static func open(
        on device: NIONetworkDevice, _ eventLoops: any EventLoopGroup,
        _ receive: @escaping @Sendable ([UInt8], _ interface: String) -> Void
    ) async -> MulticastSocket? {
        guard device.multicastSupported, let address = device.address, let group = group(for: address) else {
            return nil
        }
        let name = device.name
        let bootstrap = DatagramBootstrap(group: eventLoops)
            .channelOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: DNSMessage.maximumLength)
            )
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AnswerReceiver { receive($0, name) })
                }
            }
        guard let channel = try? await bootstrap.bind(to: address).get() else { return nil }
        guard let options = channel as? any SocketOptionProvider,
            (try? await aim(options, address, interface: device.interfaceIndex)) != nil
        else {
            try? await channel.close()
            return nil
        }
        return MulticastSocket(channel: channel, group: group)
    }

    func send(_ message: [UInt8]) {
        let envelope = AddressedEnvelope(remoteAddress: group, data: channel.allocator.buffer(bytes: message))
        // What is lost here is asked again.
        channel.writeAndFlush(envelope, promise: nil)
    }

    /// RFC 6762, 3. By IPv6 only link-local addresses ask, for each interface has one.
    private static func group(for address: SocketAddress) -> SocketAddress? {
        switch address {
        case .v4: try? SocketAddress(ipAddress: "224.0.0.251", port: port)
        case .v6(let address):
            withUnsafeBytes(of: address.address.sin6_addr) { $0[0] == 0xfe && $0[1] & 0xc0 == 0x80 }
                ? try? SocketAddress(ipAddress: "ff02::fb", port: port) : nil
        case .unixDomainSocket: nil
        }
    }

    /// Out of this interface, and with the hop limit that says that the packet came over no router (RFC 6762, 11).
    private static func aim(
        _ options: any SocketOptionProvider, _ address: SocketAddress, interface: Int
    ) async throws {
        switch address {
        case .v4(let address):
            try await options.setIPMulticastIF(address.address.sin_addr).get()
            try await options.setIPMulticastTTL(255).get()
        case .v6:
            try await options.setIPv6MulticastIF(CUnsignedInt(interface)).get()
            try await options.setIPv6MulticastHops(255).get()
        case .unixDomainSocket: break
        }
    }
}

/// Hands on what comes from responders.
private final class AnswerReceiver: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let receive: @Sendable ([UInt8]) -> Void

    init(_ receive: @escaping @Sendable ([UInt8]) -> Void) { self.receive = receive }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        guard envelope.remoteAddress.port == MulticastSocket.port else { return }
        receive(Array(envelope.data.readableBytesView))
    }

    /// A socket whose interface has gone stays silent.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
