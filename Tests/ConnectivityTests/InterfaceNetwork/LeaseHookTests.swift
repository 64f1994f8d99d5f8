import Connectivity
import Foundation
import Linux
import Testing

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

    @Test func whoeverSaysSomethingIsHeard() throws {
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
        // DHCP's before DHCPv6's before those of router advertisements, whoever spoke last.
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
