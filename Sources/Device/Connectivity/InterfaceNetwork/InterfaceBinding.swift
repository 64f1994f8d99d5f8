import AgentModel
import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Binds a socket to an interface (socket(7), `SO_BINDTODEVICE`) before it connects, or is bound to an address,
/// whatever route the machine prefers.
///
/// Since Linux 5.7 that takes no privilege. This machine's own servers are reached over no interface, so there nothing
/// is bound.
package final class InterfaceBinding: ChannelOutboundHandler {
    package typealias OutboundIn = Never

    private let interface: String?

    package init(to interface: String?) { self.interface = interface }

    package func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
        guard !address.isLoopback else { return context.connect(to: address, promise: promise) }
        bindToInterface(context, promise) { context.connect(to: address, promise: promise) }
    }

    package func bind(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
        guard !address.isLoopback else { return context.bind(to: address, promise: promise) }
        bindToInterface(context, promise) { context.bind(to: address, promise: promise) }
    }

    private func bindToInterface(
        _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?, then goOn: @escaping () -> Void
    ) {
        guard let interface else { return goOn() }
        guard let socket = context.channel as? any SocketOptionProvider, let name = Self.option(interface) else {
            promise?.fail(IOError(errnoCode: ENODEV, reason: "SO_BINDTODEVICE"))
            return
        }
        let bound = socket.unsafeSetSocketOption(
            level: .socket, name: NIOBSDSocket.Option(rawValue: SO_BINDTODEVICE), value: name)
        bound.assumeIsolated().whenComplete { result in
            switch result {
            case .success: goOn()
            case .failure(let error): promise?.fail(error)
            }
        }
    }

    /// As netdevice(7) has it: 16 bytes, of which the last is 0.
    private static func option(_ interface: String) -> SIMD16<UInt8>? {
        let name = Array(interface.utf8)
        guard (1...15).contains(name.count) else { return nil }
        return SIMD16(name + Array(repeating: 0, count: 16 - name.count))
    }
}

extension SocketAddress {
    init(_ address: IPAddress, port: Int) throws {
        try self.init(packedIPAddress: ByteBuffer(bytes: address.bytes), port: port)
    }

    var isLoopback: Bool { ipAddress.flatMap { IPAddress($0) }?.isLoopback ?? false }
}

/// Refuses connections to this machine itself where they are to go through an interface: a network that hands out such
/// an address, by a redirection or by what its name servers say, wants to have services asked that are not its own.
final class OwnAddressRefusal: ChannelOutboundHandler {
    typealias OutboundIn = Never

    private let interface: String?

    init(_ interface: String?) { self.interface = interface }

    func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
        // The loopback interface has no other machine, and without an interface the way is the machine's.
        guard interface == nil || interface == "lo" || !Self.isOwn(address) else {
            promise?.fail(ConnectFailure.ownAddress)
            return
        }
        context.connect(to: address, promise: promise)
    }

    /// An address of any interface counts: the kernel delivers what is sent there without sending it.
    private static func isOwn(_ address: SocketAddress) -> Bool {
        guard let address = IPAddress(address) else { return true }
        guard !address.isLoopback, !address.isUnspecified else { return true }
        // If they cannot be read, any address may be an own one.
        guard let devices = try? System.enumerateDevices() else { return true }
        return devices.contains { $0.address.flatMap { IPAddress($0) } == address }
    }
}

extension IPAddress {
    /// - Returns: nil for what is no address of the internet protocol.
    fileprivate init?(_ address: SocketAddress) {
        guard let text = address.ipAddress else { return nil }
        self.init(text)
    }
}
