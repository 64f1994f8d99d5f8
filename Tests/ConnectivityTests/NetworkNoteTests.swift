import AgentModel
import Foundation
import NIOCore
import NIOEmbedded
import Randomness
import Testing

@testable import Connectivity

@Suite struct NetworkNoteTests {
    private func servers(_ notes: NetworkAnnouncements) -> [String] {
        notes.nameServers.map { "\($0.address) \($0.port)" }
    }

    private func notes(_ text: String) -> NetworkAnnouncements {
        NetworkAnnouncements(resolverConfiguration: Array(text.utf8))
    }

    @Test func theMachinesServersAreRead() {
        let text = "; by hand\nsearch example\nnameserver\t127.0.0.53\nnameserver ::1 # x\nnameserver fe80::1%wlan0\n"
        #expect(servers(notes(text)) == ["127.0.0.53 53", "::1 53", "fe80::1 53"])
    }

    @Test(arguments: ["", "x", "192.0.2", "192.0.2.1:53", "[::1]", "%lo", "a.example", "nameserver"])
    func whatIsNoServerIsLeftOut(text: String) { #expect(notes("nameserver \(text)\n") == NetworkAnnouncements()) }

    @Test func serversAreBounded() {
        let many = (0..<100).map { "nameserver 192.0.2.\($0 / 2)\n" }.joined()
        #expect(servers(notes(many)) == (0..<NetworkAnnouncements.maximumServers).map { "192.0.2.\($0) 53" })
    }

    @Test func aLinksOwnServersAreRead() {
        let networkd = """
            # This is private data. Do not parse.
            ADMIN_STATE=configured
            DNS=10.1.1.1 fe80::1%eth0 1.1.1.1#one.example [2001:db8::1]:5353 10.1.1.1
            NTP=10.1.1.9
            DOMAINS=
            """
        let found = NetworkAnnouncements(linkState: Array(networkd.utf8))
        #expect(servers(found) == ["10.1.1.1 53", "fe80::1 53", "1.1.1.1 53"])
        let many = "DNS=" + (0..<100).map { "192.0.2.\($0)" }.joined(separator: " ")
        #expect(servers(NetworkAnnouncements(linkState: Array(many.utf8))).count == NetworkAnnouncements.maximumServers)
    }

    @Test(arguments: ["", "=", "DNS", "DNS=", "DNS==192.0.2.1", "XDNS=192.0.2.1", "DNS=a.example 1.2.3", "DNS=\0"])
    func aLinksStateWithoutServersHasNone(text: String) {
        #expect(NetworkAnnouncements(linkState: Array(text.utf8)).nameServers.isEmpty)
    }

    /// The loopback's index is 1.
    @Test func withoutServersOfTheLinkTheOtherNetworksAreRead() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("altnet-link-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let machine = AnnouncementReader(nil, from: .supplied, on: NIOAsyncTestingEventLoop())
        machine.set(notes("nameserver 192.0.2.1\n"))
        let link = AnnouncementReader(ofLink: "lo", from: .link(folder.path), else: machine)
        #expect(link.announcements == machine.announcements)
        try Data("DNS=192.0.2.9\n".utf8).write(to: folder.appendingPathComponent("1"))
        #expect(servers(link.announcements) == ["192.0.2.9 53"])
    }

    /// Neither a folder, a pipe nor a file without end is read.
    @Test func onlySmallFilesAreRead() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("altnet-notes-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.path + "/resolv.conf"
        func read(_ path: String) -> NetworkAnnouncements {
            AnnouncementReader(nil, from: .machine(path), on: NIOAsyncTestingEventLoop()).announcements
        }
        #expect(read(path) == NetworkAnnouncements() && read(folder.path) == NetworkAnnouncements())
        #expect(mkfifo(path, 0o600) == 0)
        #expect(read(path) == NetworkAnnouncements())
        try FileManager.default.removeItem(atPath: path)
        let text = "nameserver 192.0.2.1\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        #expect(servers(read(path)) == ["192.0.2.1 53"])
        try Data((text + String(repeating: "#", count: AnnouncementReader.largest)).utf8).write(
            to: URL(fileURLWithPath: path))
        #expect(read(path) == NetworkAnnouncements())
    }

    /// Those that wait look again when something is told, and at the end of their time.
    @Test func whatIsToldIsWaitedFor() async throws {
        let loop = NIOAsyncTestingEventLoop()
        let reader = AnnouncementReader("wlan0", from: .supplied, on: loop)
        var told = NetworkAnnouncements(captivePortalAPI: "https://a.example/")
        let end = NIODeadline.uptimeNanoseconds(10_000_000_000)
        async let patient = reader.announcements(until: end) { !$0.nameServers.isEmpty }
        async let content = reader.announcements(until: end) { $0 != NetworkAnnouncements() }
        reader.set(told)
        #expect(await content == told)
        told.nameServers = [NameServer(try #require(IPAddress("192.0.2.1")))]
        reader.set(told)
        #expect(await patient == told)
        // At the end of the time it is what there is.
        await loop.advanceTime(to: end)
        #expect(await reader.announcements(until: end) { _ in false } == told)
        reader.set(NetworkAnnouncements())
        #expect(reader.announcements == NetworkAnnouncements())
    }

    @Test func noiseIsReadOrSteppedOver() {
        var random = SeededRandom(seed: 6)
        let pieces = ["nameserver ", "192.0.2.1", "::1", "[", "]", ":53", "%", "#", "=", " ", "\n"]
        for _ in 0..<20_000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0...20, using: &random) {
                bytes += Array((pieces.randomElement(using: &random) ?? "").utf8)
                if Bool.random(using: &random) { bytes.append(UInt8.random(in: 0...255, using: &random)) }
            }
            let notes = NetworkAnnouncements(resolverConfiguration: bytes)
            #expect(notes.nameServers.count <= NetworkAnnouncements.maximumServers)
            #expect(notes.nameServers.allSatisfy { $0.port == 53 } && notes.captivePortalAPI == nil)
        }
    }
}
