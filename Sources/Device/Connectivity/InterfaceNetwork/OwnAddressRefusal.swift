import AgentModel
import NIOCore

/// Refuses connections to this machine itself where they are to go through an interface: a network that hands out such an
/// address, by a redirection or by what its name servers say, wants to have services asked that are not its own.
final class OwnAddressRefusal: ChannelOutboundHandler {
    typealias OutboundIn = Never

    private let interface: String?

    init(_ interface: String?) { self.interface = interface }

    func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
        // Nobody else is on the loopback interface, and without an interface the way is the machine's.
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
        // Where they cannot be read none is known to be a stranger's.
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
