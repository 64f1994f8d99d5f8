import AgentModel
import ConnectivitySupport
import Foundation
import Linux
import NIOEmbedded
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
        // Values that the network does not give are not taken from other sources.
        try folder.write("NAME_SERVERS=\nCAPTIVE_PORTAL=\n", to: "leases/lo")
        #expect(folder.files.notes(of: "lo") == NetworkNotes())
        #expect(servers(folder.files.notes(of: nil)) == ["192.0.2.99 53"])
    }

    /// systemd-networkd has a file for what it does not see to as well.
    @Test func anotherProgramsLinkHasTheMachinesServers() throws {
        let folder = try NoteFolder(hook: false)
        defer { folder.remove() }
        try folder.write(
            "; written by hand\nsearch example\nnameserver\t127.0.0.53\nnameserver ::1 # x\n", to: "resolv.conf")
        try folder.write("ADMIN_STATE=unmanaged\n", to: "links/\(if_nametoindex("lo"))")
        #expect(servers(folder.files.notes(of: "lo")) == ["127.0.0.53 53", "::1 53"])
    }

    /// While our hook is at work, the machine's servers are those of some other network.
    @Test func withoutANoteYetNoServerIsKnown() throws {
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
        let reader = NoteReader("lo", folder.files, on: NIOAsyncTestingEventLoop())
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
        let reader = NoteReader("lo", folder.files, on: NIOAsyncTestingEventLoop())
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

/// The hook of dhcpcd, called as dhcpcd calls it (dhcpcd-run-hooks(8)).
@Suite struct LeaseHookTests {
    private static let hook = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../board/dhcpcd/altnet-lease").standardized.path

    private func call(
        _ folder: NoteFolder, _ reason: String, isSourced: Bool = false, _ variables: [String: String] = [:]
    )
        throws
    {
        let usual = [
            "PATH": "/usr/bin:/bin", "interface": "wlan0", "reason": reason, "ALTNET_LEASES": folder.files.leases,
        ]
        let pid = try ChildProcess.start(
            "/bin/sh", isSourced ? ["-euc", ". \"$0\"; exit 7", Self.hook] : [Self.hook],
            environment: usual.merging(variables) { _, own in own }.map { "\($0.key)=\($0.value)" },
            output: .descriptor(1))
        #expect(ChildProcess.wait(for: pid) == (isSourced ? 7 : 0))
    }

    private func notes(_ folder: NoteFolder) -> [String]? {
        guard folder.read("leases/wlan0") != nil else { return nil }
        let notes = folder.files.notes(of: "wlan0")
        return notes.nameServers.map(\.address.description) + [notes.captivePortalAPI ?? "-"]
    }

    @Test(arguments: [false, true])
    func aLeaseIsNotedDown(isSourced: Bool) throws {
        let folder = try NoteFolder()
        defer { folder.remove() }
        let lease = [
            "new_domain_name_servers": "192.0.2.1 192.0.2.2",
            "new_captive_portal_uri": "https://portal.example/api?a=$(x)",
        ]
        for reason in ["BOUND", "RENEW", "REBIND", "REBOOT", "INFORM", "TIMEOUT", "STATIC"] {
            try call(folder, reason, isSourced: isSourced, lease)
            #expect(notes(folder) == ["192.0.2.1", "192.0.2.2", "https://portal.example/api?a=$(x)"])
            try call(folder, "EXPIRE", isSourced: isSourced)
            #expect(notes(folder) == nil)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.files.leases).isEmpty)
    }

    @Test func everySourceOfNotesIsHeard() throws {
        let folder = try NoteFolder()
        defer { folder.remove() }
        try call(
            folder, "ROUTERADVERT",
            [
                "nd1_from": "fe80::1", "nd1_acquired": "1", "nd1_rdnss1_lifetime": "600",
                "nd1_rdnss1_servers": "fe80::1%wlan0 2001:db8::1", "nd1_rdnss2_lifetime": "0",
                "nd1_rdnss2_servers": "2001:db8::2", "nd1_rdnss3_lifetime": "60", "nd1_rdnss3_servers": "2001:db8::3",
                "nd1_captive_portal_uri": "https://portal.example/ra", "nd2_from": "fe80::2",
                "nd2_rdnss1_lifetime": "9", "nd2_rdnss1_servers": "2001:db8::4",
            ])
        let advertised = ["fe80::1", "2001:db8::1", "2001:db8::3", "2001:db8::4"]
        #expect(notes(folder) == advertised + ["https://portal.example/ra"])
        try call(folder, "BOUND6", ["new_dhcp6_name_servers": "2001:db8::6"])
        try call(
            folder, "BOUND",
            ["new_domain_name_servers": "192.0.2.1", "new_captive_portal_uri": "https://portal.example/4"])
        // DHCP's before DHCPv6's before those of router advertisements, in whatever order they came.
        #expect(Array(notes(folder)?.prefix(3) ?? []) == ["192.0.2.1", "2001:db8::6", "fe80::1"])
        #expect(notes(folder)?.last == "https://portal.example/4")
        try call(folder, "RENEW", ["new_domain_name_servers": "192.0.2.2"])
        #expect(notes(folder)?.first == "192.0.2.2")
        #expect(notes(folder)?.last == "https://portal.example/ra")
        try call(folder, "ROUTERADVERT")
        #expect(notes(folder) == ["192.0.2.2", "2001:db8::6", "-"])
        try call(folder, "STOP6")
        #expect(notes(folder) == ["192.0.2.2", "-"])
        try call(folder, "CARRIER")
        #expect(notes(folder) == ["192.0.2.2", "-"])
    }

    @Test(arguments: ["PREINIT", "NOCARRIER", "DEPARTED", "STOPPED"])
    func whatIsOverIsForgotten(reason: String) throws {
        let folder = try NoteFolder()
        defer { folder.remove() }
        try call(folder, "BOUND", ["new_domain_name_servers": "192.0.2.1"])
        try call(folder, "ROUTERADVERT", ["nd1_from": "fe80::1"])
        try call(folder, reason)
        #expect(notes(folder) == nil)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1\t2001:db8::1  ::ffff:192.0.2.2", "192.0.2.1 2001:db8::1 ::ffff:192.0.2.2"),
        ("fe80::1%wlan0", "fe80::1%wlan0"), ("192.0.2.1 * /etc/* 192.0.2.2", "192.0.2.1 192.0.2.2"),
        ("192.0.2", ""), ("192.0.2.1.5", ""), ("a.b.c.d", ""), ("cafe", ""), ("1:2", ""), ("-rf 1.2.3.4;", ""),
        ("1111.2222.3333.4444", ""), ("fe80::1%", ""), ("fe80::1%a/b", ""), ("fe80::1%a234567890123456", ""),
        (String(repeating: ":", count: 46), ""), ("192.0.2.1\u{7f}", ""), ("192.0.2.1\\n", ""),
        ((1...100).map { "192.0.2.\($0)" }.joined(separator: " "), ""),
    ])
    func aListOfServersIsAddresses(said: String, noted: String) throws {
        let folder = try NoteFolder()
        defer { folder.remove() }
        try call(folder, "BOUND", ["new_domain_name_servers": said])
        #expect(
            folder.read("leases/wlan0")
                == "DHCP4_NAME_SERVERS=\(noted)\nDHCP4_CAPTIVE_PORTAL=\nNAME_SERVERS=\(noted)\nCAPTIVE_PORTAL=\n")
    }

    @Test(arguments: [
        ("https://portal.example/api", true), ("HTTP://192.0.2.1:8080/~a/(b)?c=[d]&e=%20#f!$'*+,;@", true),
        ("urn:ietf:params:capport:unrestricted", true), ("https://" + String(repeating: "a", count: 2040), true),
        ("https://" + String(repeating: "a", count: 2041), false), ("https://", false), ("portal.example", false),
        ("file:///etc/passwd", false), ("javascript:x", false), ("https://a b", false), ("https://a\u{1b}[2J", false),
        ("https://a\"b", false), ("https://a<b", false), ("https://a`b`", false), (#"https://a\b"#, false),
        ("https://a{b}", false), ("https://a^b", false), ("https://a|b", false), ("https://b\u{fc}cher.example", false),
    ])
    func aPortalIsAURI(said: String, isNoted: Bool) throws {
        let folder = try NoteFolder()
        defer { folder.remove() }
        try call(folder, "BOUND", ["new_captive_portal_uri": said])
        let noted = isNoted ? said : ""
        #expect(
            folder.read("leases/wlan0")
                == "DHCP4_NAME_SERVERS=\nDHCP4_CAPTIVE_PORTAL=\(noted)\nNAME_SERVERS=\nCAPTIVE_PORTAL=\(noted)\n")
    }

    @Test(arguments: ["", ".", "..", "../evil", "a/b", "-wlan0", "wlan 0", "wlan0;x", "w*", "a234567890123456"])
    func whatIsNoInterfaceHasNoNote(interface: String) throws {
        let folder = try NoteFolder()
        defer { folder.remove() }
        try call(folder, "BOUND", ["interface": interface, "new_domain_name_servers": "192.0.2.1"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.files.leases).isEmpty)
    }

    @Test func whatANetworkSaysIsNotCarriedOut() throws {
        let folder = try NoteFolder()
        defer { folder.remove() }
        let evil = "192.0.2.1\nNAME_SERVERS=6.6.6.6 $(touch \(folder.url.path)/evil)`touch \(folder.url.path)/evil`; \""
        try call(
            folder, "BOUND",
            ["new_domain_name_servers": evil, "new_captive_portal_uri": "https://a\nNAME_SERVERS=6.6.6.6"])
        #expect(notes(folder) == ["-"])
        try call(
            folder, "ROUTERADVERT",
            ["nd1_from": evil, "nd1_rdnss1_lifetime": evil, "nd1_rdnss1_servers": evil, "nd1_captive_portal_uri": evil])
        #expect(notes(folder) == ["-"])
        #expect(folder.read("evil") == nil)
        try call(folder, "BOUND", ["interface": "../evil", "new_domain_name_servers": "192.0.2.1"])
        #expect(folder.read("evil") == nil)
    }
}
