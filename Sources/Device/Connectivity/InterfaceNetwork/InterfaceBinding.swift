import AgentModel
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Binds a socket to an interface (socket(7), `SO_BINDTODEVICE`), independent of the routing table.
///
/// Needs no privilege since Linux 5.7. Loopback destinations stay unbound, because no interface reaches them.
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

    /// Option with the interface's name: 16 bytes, zero-terminated (netdevice(7)).
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

/// Refuses connections through an interface to this machine's own addresses. Otherwise a network could reach local
/// services by redirection or DNS.
final class OwnAddressRefusal: ChannelOutboundHandler {
    typealias OutboundIn = Never

    private let interface: String?

    init(_ interface: String?) { self.interface = interface }

    func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
        // Loopback and the default route may reach this machine.
        guard interface == nil || interface == "lo" || !Self.isOwn(address) else {
            promise?.fail(ConnectFailure.ownAddress)
            return
        }
        context.connect(to: address, promise: promise)
    }

    /// Whether the address belongs to any interface of this machine. The kernel delivers packets to it locally.
    private static func isOwn(_ address: SocketAddress) -> Bool {
        guard let address = IPAddress(address) else { return true }
        guard !address.isLoopback, !address.isUnspecified else { return true }
        // Refuses every address if the machine's own addresses cannot be read.
        guard let devices = try? System.enumerateDevices() else { return true }
        return devices.contains { $0.address.flatMap { IPAddress($0) } == address }
    }
}

extension IPAddress {
    fileprivate init?(_ address: SocketAddress) {
        guard let text = address.ipAddress else { return nil }
        self.init(text)
    }
}
