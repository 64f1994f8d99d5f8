import AgentModel
import Foundation
import Randomness
import Testing

@testable import Connectivity

@Suite struct NetworkNoteTests {
    private func servers(_ notes: NetworkNotes) -> [String] { notes.nameServers.map { "\($0.address) \($0.port)" } }

    @Test func theLeaseSaysIt() throws {
        let folder = try NoteFolder()
        defer { folder.remove() }
        try folder.write("nameserver 192.0.2.99\n", to: "resolv.conf")
        let index = if_nametoindex("lo")
        try folder.write(
            """
            # This is private data. Do not parse.
            ADMIN_STATE=configured
            DNS=192.0.2.53 192.0.2.54:5353#dns.example [2001:db8::1]:54%lo fe80::1
            CAPTIVE_PORTAL=https://portal.example/networkd
            DOMAINS=
            """, to: "links/\(index)")
        let links = folder.files.notes(of: "lo")
        #expect(servers(links) == ["192.0.2.53 53", "192.0.2.54 5353", "2001:db8::1 54", "fe80::1 53"])
        #expect(links.captivePortalAPI == "https://portal.example/networkd")
        try folder.write(
            "DHCP4_NAME_SERVERS=192.0.2.7\nNAME_SERVERS=192.0.2.1 fe80::1%lo\nCAPTIVE_PORTAL=https://portal.example/api\n",
            to: "leases/lo")
        let lease = folder.files.notes(of: "lo")
        #expect(servers(lease) == ["192.0.2.1 53", "fe80::1 53"])
        #expect(lease.captivePortalAPI == "https://portal.example/api")
        // What the network does not say is not made up for by others.
        try folder.write("NAME_SERVERS=\nCAPTIVE_PORTAL=\n", to: "leases/lo")
        #expect(folder.files.notes(of: "lo") == NetworkNotes())
        #expect(servers(folder.files.notes(of: nil)) == ["192.0.2.99 53"])
    }

    /// systemd-networkd has a file for what it does not see to as well.
    @Test func aLinkOfSomebodyElseHasTheMachinesServers() throws {
        let folder = try NoteFolder(hook: false)
        defer { folder.remove() }
        try folder.write(
            "; written by hand\nsearch example\nnameserver\t127.0.0.53\nnameserver ::1 # x\n", to: "resolv.conf")
        try folder.write("ADMIN_STATE=unmanaged\n", to: "links/\(if_nametoindex("lo"))")
        #expect(servers(folder.files.notes(of: "lo")) == ["127.0.0.53 53", "::1 53"])
    }

    /// Where our hook is at work, the machine's servers are those of some other network.
    @Test func withoutANoteYetNobodyIsKnown() throws {
        let folder = try NoteFolder(hook: false)
        defer { folder.remove() }
        try folder.write("nameserver 192.0.2.99\n", to: "resolv.conf")
        #expect(servers(folder.files.notes(of: "lo")) == ["192.0.2.99 53"])
        try FileManager.default.createDirectory(atPath: folder.files.leases, withIntermediateDirectories: false)
        #expect(folder.files.notes(of: "lo") == NetworkNotes())
        try folder.write("ADMIN_STATE=unmanaged\n", to: "links/\(if_nametoindex("lo"))")
        #expect(folder.files.notes(of: "lo") == NetworkNotes())
        #expect(servers(folder.files.notes(of: nil)) == ["192.0.2.99 53"])
        try folder.write("DNS=192.0.2.53\n", to: "links/\(if_nametoindex("lo"))")
        #expect(servers(folder.files.notes(of: "lo")) == ["192.0.2.53 53"], "systemd-networkd sees to this one")
    }

    /// dhcpcd removes its note when it notices that the link is down, and it may be slow.
    @Test func theNoteOfTheNetworkBeforeIsNotBelieved() throws {
        let folder = try NoteFolder()
        defer { folder.remove() }
        try folder.write("NAME_SERVERS=192.0.2.1\n", to: "leases/lo")
        let reader = NoteReader("lo", folder.files)
        #expect(servers(reader.notes) == ["192.0.2.1 53"], "the network was there first")
        reader.disregardNotes(true)
        #expect(reader.notes == NetworkNotes())
        try FileManager.default.removeItem(atPath: folder.files.leases + "/lo")
        #expect(reader.notes == NetworkNotes())
        // The same words, if both networks have the same servers.
        try folder.write("NAME_SERVERS=192.0.2.1\n", to: "leases/.lo.new")
        #expect(rename(folder.files.leases + "/.lo.new", folder.files.leases + "/lo") == 0)
        #expect(servers(reader.notes) == ["192.0.2.1 53"])
        // Nothing came of the next network, and the device goes back.
        reader.disregardNotes(true)
        #expect(reader.notes == NetworkNotes())
        reader.disregardNotes(false)
        #expect(servers(reader.notes) == ["192.0.2.1 53"])
    }

    /// systemd-networkd keeps what it knew for some seconds, and notes it anew with each change of the link.
    @Test func whatSystemdNetworkdKnewOfTheNetworkBeforeIsNotBelieved() throws {
        let folder = try NoteFolder(hook: false)
        defer { folder.remove() }
        try folder.write("nameserver 192.0.2.99\n", to: "resolv.conf")
        let path = "links/\(if_nametoindex("lo"))"
        func note(_ state: String, _ rest: String) throws {
            try folder.write("OPER_STATE=\(state)\n\(rest)", to: "links/new")
            #expect(rename(folder.url.path + "/links/new", folder.url.path + "/" + path) == 0)
        }
        let known = "DNS=192.0.2.53\nCAPTIVE_PORTAL=https://old.example/\n"
        try note("routable", known)
        let reader = NoteReader("lo", folder.files)
        #expect(servers(reader.notes) == ["192.0.2.53 53"])
        reader.disregardNotes(true)
        #expect(reader.notes == NetworkNotes(), "nor are the machine's servers, which are the same")
        for state in ["no-carrier", "dormant", "carrier", "degraded"] {
            try note(state, known)
            #expect(reader.notes.captivePortalAPI == nil)
            #expect(!servers(reader.notes).contains("192.0.2.53 53"))
        }
        try note("routable", "DNS=192.0.2.54\n")
        #expect(servers(reader.notes) == ["192.0.2.54 53"])
        reader.disregardNotes(true)
        reader.disregardNotes(false)
        #expect(servers(reader.notes) == ["192.0.2.54 53"], "the device went back")
    }

    @Test func portalsAreBoundedAndPlain() {
        func portal(_ text: String) -> String? {
            NetworkNotes(assignments: Array("CAPTIVE_PORTAL=\(text)\n".utf8), servers: "DNS").captivePortalAPI
        }
        #expect(portal("https://a.example/\u{1b}[2J") == nil)
        #expect(portal("https://a b") == nil)
        #expect(portal("") == nil)
        #expect(portal("urn:ietf:params:capport:unrestricted") == nil)
        #expect(portal(String(repeating: "a", count: NetworkNotes.longestURL)) != nil)
        #expect(portal(String(repeating: "a", count: NetworkNotes.longestURL + 1)) == nil)
    }

    @Test(arguments: [
        "", ":", "192.0.2.1:", "192.0.2.1:0", "192.0.2.1:65536", "[::1]", "[::1]:x", "::1:53x", "[192.0.2.1]:53",
        "a:53",
        "#192.0.2.1", "%lo",
    ])
    func whatIsNoServerIsLeftOut(text: String) { #expect(NameServer(text) == nil) }

    @Test func serversAreBounded() {
        let many = (0..<100).map { "192.0.2.\($0)" }.joined(separator: " ")
        let notes = NetworkNotes(assignments: Array("DNS=192.0.2.0 \(many)".utf8), servers: "DNS")
        #expect(servers(notes) == (0..<NetworkNotes.maximumServers).map { "192.0.2.\($0) 53" })
    }

    /// Neither a folder, a pipe nor a file without end is read, and no name leads elsewhere.
    @Test func onlySmallFilesAreRead() throws {
        let folder = try NoteFolder()
        defer { folder.remove() }
        #expect(mkfifo(folder.files.resolver, 0o600) == 0)
        #expect(folder.files.notes(of: nil) == NetworkNotes())
        try FileManager.default.removeItem(atPath: folder.files.resolver)
        try folder.write("NAME_SERVERS=192.0.2.1", to: "leases/lo")
        #expect(folder.files.notes(of: "../leases/lo") == NetworkNotes())
        try folder.write("NAME_SERVERS=192.0.2.1\n" + String(repeating: "#", count: NoteFiles.largest), to: "leases/lo")
        #expect(folder.files.notes(of: "lo") == NetworkNotes())
    }

    @Test func noiseIsReadOrSteppedOver() {
        var random = SeededRandom(seed: 6)
        let pieces = [
            "DNS=", "CAPTIVE_PORTAL=", "nameserver ", "192.0.2.1", "::1", "[", "]", ":53", "%", "#", "=", " ", "\n",
        ]
        for _ in 0..<20_000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0...20, using: &random) {
                bytes += Array((pieces.randomElement(using: &random) ?? "").utf8)
                if Bool.random(using: &random) { bytes.append(UInt8.random(in: 0...255, using: &random)) }
            }
            for notes in [
                NetworkNotes(assignments: bytes, servers: "DNS"), NetworkNotes(resolverConfiguration: bytes),
            ] {
                #expect(notes.nameServers.count <= NetworkNotes.maximumServers)
                #expect(notes.nameServers.allSatisfy { (1...65_535).contains($0.port) })
                #expect(notes.captivePortalAPI?.utf8.allSatisfy { (0x21...0x7e).contains($0) } ?? true)
            }
        }
    }
}
