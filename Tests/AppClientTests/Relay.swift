import NIOCore
import NIOPosix
import TestTime

/// Stands between app and device, on loopback, and does what networks do: cuts connections, swallows what is said,
/// leads somewhere else.
final class Relay: Sendable {
    struct State {
        var target: Int
        var frozen: Set<ObjectIdentifier> = []
        var refuses = false
        var connections: [any Channel] = []
        var accepted = 0
    }

    private let listener: any Channel
    private let state: StateBox

    final class StateBox: Sendable {
        let state: Observed<State>
        init(_ state: State) { self.state = Observed(state) }
    }

    let port: Int

    init(to target: Int) async throws {
        let box = StateBox(State(target: target))
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { channel in Self.accept(channel, box) }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let port = listener.localAddress?.port else { throw ChannelError.eof }
        (self.listener, state, self.port) = (listener, box, port)
    }

    /// How many connections there are now.
    var connections: Int { state.state.change { $0.connections.count } }
    /// How many there have been.
    var accepted: Int { state.state.change { $0.accepted } }

    /// Returns once there have been so many.
    func hasAccepted(_ count: Int) async throws {
        try await state.state.wait("connection \(count)") { $0.accepted >= count }
    }

    /// Returns once there is none any more.
    func isEmpty() async throws {
        try await state.state.wait("every connection is closed") { $0.connections.isEmpty }
    }

    /// Ends every connection: nothing passes any more when it returns.
    func cut() async {
        for channel in state.state.change({ $0.connections }) { try? await channel.close() }
    }

    /// Nothing passes any more on the connections there are, in either direction, without a notice.
    func freeze() {
        state.state.change { state in state.frozen.formUnion(state.connections.map { ObjectIdentifier($0) }) }
    }

    /// New connections are closed at once, or no more.
    func refuse(_ refuses: Bool) { state.state.change { $0.refuses = refuses } }

    /// New connections lead there.
    func lead(to target: Int) { state.state.change { $0.target = target } }

    func stop() async {
        await cut()
        try? await listener.close()
    }

    private static func accept(_ near: any Channel, _ box: StateBox) -> EventLoopFuture<Void> {
        let (target, refuses) = box.state.change { state in
            state.accepted += 1
            return (state.target, state.refuses)
        }
        if refuses { return near.close() }
        return ClientBootstrap(group: near.eventLoop)
            .channelOption(.autoRead, value: false)
            .connect(host: "127.0.0.1", port: target)
            .flatMapThrowing { far in
                box.state.change { $0.connections.append(near) }
                near.closeFuture.whenComplete { _ in
                    box.state.change { $0.connections.removeAll { $0 === near } }
                }
                try near.pipeline.syncOperations.addHandler(Pipe(to: far, of: near, box))
                try far.pipeline.syncOperations.addHandler(Pipe(to: near, of: near, box))
                _ = near.setOption(.autoRead, value: true)
                _ = far.setOption(.autoRead, value: true)
            }
    }

    private final class Pipe: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let other: any Channel
        private let connection: ObjectIdentifier
        private let box: StateBox

        init(to other: any Channel, of near: any Channel, _ box: StateBox) {
            self.other = other
            connection = ObjectIdentifier(near)
            self.box = box
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !box.state.change({ $0.frozen.contains(connection) }) else { return }
            other.writeAndFlush(unwrapInboundIn(data), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            other.close(promise: nil)
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
