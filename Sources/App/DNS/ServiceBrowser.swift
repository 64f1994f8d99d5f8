import AgentModel
import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Finds services in this machine's networks with multicast DNS (RFC 6762) and DNS-SD (RFC 6763).
///
/// Sends one-shot queries (RFC 6762, 5.1) from an ephemeral port on every interface, so port 5353 stays free for the
/// system's responder. Apps on Apple systems should use `NWBrowser`, which asks the user for permission.
public struct ServiceBrowser: Sendable {
    /// Type of the services, such as `_altnet._tcp.local`.
    public let type: DNSName

    private let clock: any Clock<Duration>

    private static let eventLoops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    /// Maximum number of follow-up questions: four for each service. Further questions wait for the next repetition.
    private static let mostQuestions = 4 * ServiceAssembly.maximumServices

    public init(_ type: DNSName = .altnetDevices, clock: any Clock<Duration> = ContinuousClock()) {
        (self.type, self.clock) = (type, clock)
    }

    /// Collects answers for `limit`, or until the task is cancelled.
    /// - Parameter onChange: called with the current list after each change.
    /// - Returns: the services with known host and port, sorted by name.
    /// - Throws: `noInterface` if no interface can send multicast.
    public func services(
        within limit: Duration, onChange: @Sendable ([ServiceInstance]) -> Void = { _ in }
    ) async throws(ServiceBrowserError) -> [ServiceInstance] {
        let id = UInt16.random(in: 1 ... .max)
        // The buffer is bounded, so that a flood of answers cannot fill the memory.
        let (events, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(256))
        let sockets = await Self.open { continuation.yield(.message($0, interface: $1)) }
        guard !sockets.isEmpty else { throw .noInterface }
        let schedule = Task { [clock] in
            // Wait 1 s after the first query, then twice as long each time, up to 1 h (RFC 6762, 5.2).
            let waits = BackOff(first: .seconds(1), last: .seconds(3600))
            var (queries, left) = (0, limit)
            while left > .zero, !Task.isCancelled {
                let wait = waits.wait(after: queries)
                queries += 1
                try? await clock.sleep(for: min(wait, left))
                left -= wait
                if left > .zero { continuation.yield(.repetition) }
            }
            continuation.finish()
        }
        let found = await collect(events, id) { question in
            Self.ask(question, id, sockets)
        } onChange: {
            onChange($0)
        }
        schedule.cancel()
        for socket in sockets { try? await socket.channel.close() }
        return found
    }

    private enum Event: Sendable {
        case message([UInt8], interface: String)
        case repetition
    }

    private func collect(
        _ events: AsyncStream<Event>, _ id: UInt16, ask: ([DNSQuestion]) -> Void, onChange: ([ServiceInstance]) -> Void
    ) async -> [ServiceInstance] {
        var assembly = ServiceAssembly(type: type)
        var known: [ServiceInstance] = []
        var asked: Set<DNSQuestion> = []
        ask([DNSQuestion(type, .pointer)])
        for await event in events {
            switch event {
            case .repetition: ask([DNSQuestion(type, .pointer)] + assembly.missing)
            case .message(let bytes, let interface):
                guard let message = try? DNSMessage(reading: bytes), message.isResponse, message.id == id else {
                    continue
                }
                assembly.add(message, from: interface)
                // Some responders omit the additional records, so ask for them.
                let next = assembly.missing.filter { asked.count < Self.mostQuestions && asked.insert($0).inserted }
                if !next.isEmpty { ask(next) }
                let instances = assembly.instances
                if instances != known { onChange(instances) }
                known = instances
            }
        }
        return known
    }

    private static func ask(_ questions: [DNSQuestion], _ id: UInt16, _ sockets: [MulticastSocket]) {
        // Five questions fit an Ethernet frame, even with names of maximum length.
        for start in stride(from: 0, to: questions.count, by: 5) {
            let query = DNSMessage(asking: Array(questions[start..<min(start + 5, questions.count)]), id: id).query
            for socket in sockets { socket.send(query) }
        }
    }

    /// Opens a socket for each interface address that supports multicast, at most 64. Skips addresses where this fails.
    private static func open(
        _ receive: @escaping @Sendable ([UInt8], _ interface: String) -> Void
    ) async -> [MulticastSocket] {
        var sockets: [MulticastSocket] = []
        for device in (try? System.enumerateDevices()) ?? [] where sockets.count < 64 {
            guard let socket = await MulticastSocket.open(on: device, eventLoops, receive) else { continue }
            sockets.append(socket)
        }
        return sockets
    }
}

/// Reason why a search failed.
public enum ServiceBrowserError: Error, Sendable, Equatable {
    /// No interface with multicast is up.
    case noInterface
}

extension ServiceBrowserError: CustomStringConvertible {
    public var description: String { "cannot look for devices: no network interface is up" }
}

extension DNSName {
    public static let altnetDevices = DNSName(known: "_altnet", "_tcp", "local")
}

/// A socket that sends multicast DNS queries from one address of an interface.
struct MulticastSocket {
    let channel: any Channel
    private let group: SocketAddress

    /// Port of multicast DNS. Every answer comes from this port (RFC 6762, 6).
    static let port = 5353

    /// - Parameter receive: called with each message from that port and the interface's name.
    /// - Returns: nil for an interface without multicast or an unsuitable address.
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
        channel.writeAndFlush(envelope, promise: nil)
    }

    /// Returns the multicast group (RFC 6762, 3). IPv6 uses only link-local addresses, which every interface has.
    private static func group(for address: SocketAddress) -> SocketAddress? {
        switch address {
        case .v4: try? SocketAddress(ipAddress: "224.0.0.251", port: port)
        case .v6(let address):
            withUnsafeBytes(of: address.address.sin6_addr) { $0[0] == 0xfe && $0[1] & 0xc0 == 0x80 }
                ? try? SocketAddress(ipAddress: "ff02::fb", port: port) : nil
        case .unixDomainSocket: nil
        }
    }

    /// Sets the outgoing interface and hop limit 255, which proves that no router forwarded the packet (RFC 6762, 11).
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

private final class AnswerReceiver: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let receive: @Sendable ([UInt8]) -> Void

    init(_ receive: @escaping @Sendable ([UInt8]) -> Void) { self.receive = receive }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        guard envelope.remoteAddress.port == MulticastSocket.port else { return }
        receive(Array(envelope.data.readableBytesView))
    }

    /// Ignores errors. The socket of a removed interface receives nothing more.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
