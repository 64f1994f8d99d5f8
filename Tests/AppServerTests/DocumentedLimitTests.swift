import AppProtocol
import AppServer
import Testing

/// The limits that Docs/protocol.md tells are those that the server starts with.
@Suite struct DocumentedLimitTests {
    private static let limits = AppServer.Limits()
    private static let lan = limits.lan

    @Test(arguments: [
        ("connections to the Unix socket", "\(limits.connections)"),
        ("connections from the network", "\(lan.connections)"),
        ("connections from one address", "\(lan.connectionsPerAddress)"),
        ("handshakes at the same time", "\(lan.handshakes)"),
        ("handshakes of one address at the same time", "\(lan.handshakesPerAddress)"),
        ("seconds of a handshake", text(lan.handshakeTime)),
        ("seconds without a request or a subscription, in the network", text(lan.idleTime)),
        ("seconds without reading what is sent, in the network", text(lan.writeTime)),
        ("requests of a connection, in the network", text(lan.requests)),
        ("requests of an address", text(lan.requestsPerAddress)),
        (
            "seconds that a handshake waits after wrong keys",
            "\(text(lan.wrongKeys.waits.first)), doubling, up to \(text(lan.wrongKeys.waits.last))"
        ),
    ])
    func isDocumented(what: String, limit: String) throws {
        let rows = try #require(ExampleScripts.text).split(separator: "\n")
        #expect(rows.count { $0.hasPrefix("| \(what) | \(limit) |") } == 1)
    }

    private static func text(_ duration: Duration) -> String {
        let seconds = duration / .seconds(1)
        return seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
    }

    private static func text(_ rate: AppServer.RequestRate) -> String {
        "\(rate.perSecond) a second, \(rate.burst) at once"
    }
}
