import AgentModel
import AppProtocol
import AppServer
import Foundation
import Logging
import NIOCore
import NIOPosix
import TestTime
import Testing

@testable import Agent

/// Where the metrics go.
@Suite struct MetricsPublisherTests {
    static let report = MetricsReport([
        Metric("altnet_connected_seconds", .counter, unit: "seconds", scale: 1000, "Connected.", [.init(12_500)]),
        Metric("altnet_outages", .counter, "Outages.", [.init(["cause": "own_server"], 2)]),
        Metric(
            "altnet_outage_seconds", .counter, unit: "seconds", scale: 1000, "Outages.",
            [.init(["cause": "key"], 1000)]),
        Metric(
            "altnet_own_server_connections", .counter, "Servers.",
            [.init(["result": "made"], 3), .init(["result": "failed"], 1)]),
        Metric("altnet_build_info", .gauge, "1.", [.init(["version": "1.0-2"], 1)]),
        Metric("altnet_gap_seconds", .histogram, unit: "seconds", "Gaps.", [.init(sum: 0, buckets: [], count: 0)]),
    ])

    // MARK: StatsD

    @Test func statsDIsToldTheGrowthOfCounters() {
        var lines = StatsDLines()
        #expect(
            lines.datagrams(Self.report) == [
                """
                connectivity_connected_time_ms:12500|c
                altnet_outages_own_server:2|c
                altnet_outage_time_ms_key:1000|c
                sync_successful:3|c
                sync_failure:1|c
                altnet_build_info_1_0_2:1|g
                """
            ])
        #expect(lines.datagrams(Self.report) == ["altnet_build_info_1_0_2:1|g"])
    }

    @Test func noDatagramIsLongerThanALinkTakes() {
        let many = MetricsReport(
            (0..<200).map { Metric("altnet_number_\($0)", .gauge, "A number.", [.init($0)]) })
        var lines = StatsDLines()
        let datagrams = lines.datagrams(many)
        #expect(datagrams.count > 1 && datagrams.allSatisfy { $0.utf8.count <= StatsDLines.longestDatagram })
        #expect(datagrams.joined(separator: "\n").split(separator: "\n").count == 200)
    }

    @Test func aStatsDServerGetsThem() async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let received = Observed<[String]>([])
        let server = try await DatagramBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Collector(received))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        let publisher = try Self.publisher(["ALTNET_METRICS_STATSD": "127.0.0.1:\(port)"])
        await publisher.publish()
        let first = try await received.next("a datagram") { $0.first }
        #expect(first.hasPrefix("connectivity_connected_time_ms:12500|c\n"))
        await publisher.end()
        try await server.close()
    }

    // MARK: The file

    @Test func theFileIsReplacedAsAWhole() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/altnet.prom"
        let publisher = try Self.publisher(["ALTNET_METRICS_FILE": path])
        await publisher.publish()
        #expect(try String(contentsOfFile: path, encoding: .utf8) == Self.report.text(.prometheus))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["altnet.prom"])
    }

    // MARK: The endpoint

    @Test func prometheusGetsWhatItAsksFor() async throws {
        let pages = MetricsPages { Self.report }
        let client = Browser(address: try #require(IPAddress("127.0.0.1")))
        let plain = await pages.respond(to: BrowserRequest(.get, "/metrics"), from: client)
        #expect(plain.status == 200 && String(decoding: plain.body, as: UTF8.self) == Self.report.text(.prometheus))
        let open = await pages.respond(
            to: BrowserRequest(.get, "/metrics", accept: "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"),
            from: client)
        #expect(String(decoding: open.body, as: UTF8.self).hasSuffix("# EOF\n"))
        #expect(open.headers.first?.value.hasPrefix("application/openmetrics-text") == true)
        #expect(await pages.respond(to: BrowserRequest(.get, "/"), from: client).status == 404)
        #expect(await pages.respond(to: BrowserRequest(.post, "/metrics"), from: client).status == 405)
    }

    @Test func aUnixSocketAnswers() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/metrics.sock"
        let publisher = try Self.publisher(["ALTNET_METRICS_LISTEN": path])
        await publisher.publish()
        // As the service does: the end closes the socket.
        let running = Task {
            await publisher.run()
            await publisher.end()
        }
        let received = Observed("")
        let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(TextCollector(received))
                }
            }
            .connect(unixDomainSocketPath: path).get()
        try await client.closeFuture.get()
        #expect(received.value.hasSuffix(Self.report.text(.prometheus)))
        running.cancel()
        await running.value
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test(arguments: [
        ("LISTEN", "0.0.0.0:9799"), ("LISTEN", "192.168.1.2:9799"), ("LISTEN", "127.0.0.1"), ("LISTEN", "::1:9799"),
        ("LISTEN", "127.0.0.1:0"), ("LISTEN", "localhost:80"), ("STATSD", "127.0.0.1:70000"), ("STATSD", "8125"),
        ("FILE", "altnet.prom"),
    ])
    func whatIsNoPlaceIsRefused(name: String, value: String) {
        #expect(throws: InvalidSettings.self) {
            try AgentSettings(environment: ["ALTNET_METRICS_\(name)": value])
        }
    }

    private static func publisher(_ environment: [String: String]) throws -> MetricsPublisher {
        MetricsPublisher(
            try AgentSettings(environment: environment).metrics, on: MultiThreadedEventLoopGroup.singleton.next(),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { report }
    }
}

private final class Collector: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    private let received: Observed<[String]>

    init(_ received: Observed<[String]>) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let text = String(buffer: unwrapInboundIn(data).data)
        received.change { $0.append(text) }
    }
}

private final class TextCollector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let received: Observed<String>

    init(_ received: Observed<String>) { self.received = received }

    /// Asks at once, before the listener's patience is over.
    func channelActive(context: ChannelHandlerContext) {
        let request = ByteBuffer(string: "GET /metrics HTTP/1.1\r\nHost: d\r\n\r\n")
        context.writeAndFlush(NIOAny(request), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let text = String(buffer: unwrapInboundIn(data))
        received.change { $0 += text }
    }
}

private final class TemporaryFolder: Sendable {
    let path = NSTemporaryDirectory() + "altnet-metrics-" + UUID().uuidString.prefix(8)

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
}
