import DNS
import Foundation
import PipedPrograms
import Terminal
import Testing

@testable import altnet

@Suite struct DiscoverTests {
    private func instance(
        _ name: String, host: String = "lamp.local", addresses: [String] = ["192.0.2.1", "fe80::1%wlan0"],
        id: String? = "lamp-01"
    ) throws -> ServiceInstance {
        ServiceInstance(
            name: name, host: try #require(DNSName(host)), port: 25_863, addresses: addresses,
            attributes: id.map { ["id": Array($0.utf8)] } ?? [:])
    }

    @Test func devicesAreATable() throws {
        let view = DiscoveryView(devices: [
            try instance("altnet on lamp"),
            try instance("\u{1b}[2Jevil\u{202e}", host: "x\u{7}.local", addresses: [], id: nil),
        ])
        #expect(
            view.render(Style()) == """
                NAME                     HOST         ADDRESS     PORT  DEVICE ID
                altnet on lamp           lamp.local   192.0.2.1  25863  lamp-01
                \\x1b[2Jevil\\xe2\\x80\\xae  x\\007.local  ?          25863  ?
                """)
        for line in view.render(Style(width: 60)).split(separator: "\n") { #expect(line.count <= 60) }
    }

    @Test func aNameIsShownUnlessItIsUnsafe() throws {
        var named = try instance("altnet on lamp")
        for (text, shown) in [("Küche", "Küche"), ("a\u{202e}b", "altnet on lamp")] {
            named = ServiceInstance(
                name: named.name, host: named.host, port: named.port, addresses: named.addresses,
                attributes: ["id": Array("lamp-01".utf8), "name": Array(text.utf8)])
            #expect(DiscoveryView(devices: [named]).render(Style()).contains("\n\(shown)  "))
        }
    }

    @Test func noneIsSaid() {
        #expect(DiscoveryView(devices: []).render(Style()).hasPrefix("No device"))
    }

    @Test(arguments: [["--seconds", "0"], ["--seconds", "61"], ["--device", "lamp"], ["lamp"]])
    func isRefused(options: [String]) async {
        #expect(await CommandRun.altnet(["discover"] + options).status == 64)
    }

    /// The real thing: Avahi announces with the file that a board gets, in a network that is made for it.
    @Test(.enabled(if: Announcement.isPossible, "needs root, avahi-daemon and network namespaces"))
    func aDeviceThatAvahiAnnounces() throws {
        let run = try Announcement.discover("--seconds", "2", "--json")
        #expect(run.status == 0)
        let found = try JSONDecoder().decode(Found.self, from: Data(run.output.utf8))
        let device = try #require(found.devices.first)
        #expect(found.devices.count == 1)
        #expect(device.name == "altnet on lamp")
        #expect(device.host == "lamp.local")
        #expect(device.port == 25_863)
        #expect(device.deviceId == "9f86d081884c7d65")
        #expect(device.addresses.first == "192.0.2.1")
        #expect(device.addresses.contains { $0.hasPrefix("fe80::") && $0.hasSuffix("%phone") })
    }

    private struct Found: Decodable {
        let devices: [Device]

        struct Device: Decodable {
            let name: String
            let host: String
            let port: Int
            let addresses: [String]
            let deviceId: String?
        }
    }
}

/// `board/dns-sd/try`, with the program that was built beside the tests.
private enum Announcement {
    private static let script = Document.root.appendingPathComponent("board/dns-sd/try").path
    private static let altnet = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("altnet").path

    static var isPossible: Bool {
        let programs = ["/usr/sbin/avahi-daemon", "/usr/bin/unshare", "/usr/bin/nsenter", altnet]
        return geteuid() == 0 && programs.allSatisfy(FileManager.default.isExecutableFile)
            && (try? run("/usr/bin/unshare", ["--net", "--mount", "true"]).status) == 0
    }

    /// - Parameter options: those of `altnet discover`.
    static func discover(_ options: String...) throws -> (output: String, status: Int32) {
        try run(script, [altnet] + options)
    }

    private static func run(_ program: String, _ arguments: [String]) throws -> (output: String, status: Int32) {
        let (status, output) = try PipedProgram.run(program, arguments)
        return (String(decoding: output, as: UTF8.self), status)
    }
}
