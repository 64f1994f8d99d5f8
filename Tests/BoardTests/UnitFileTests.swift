import Foundation
import Testing

/// The verdict of systemd on the units that come with altnet.
// covers: seed/user-firmware
@Suite(.serialized, .timeLimit(.minutes(10))) struct UnitFileTests {
    /// The agent and who is beside it, with how exposed systemd may find each: tenths, of 100.
    static let services = [
        ("altnet.service", 21), ("altnet-providers.service", 21), ("altnet-wpa_supplicant@.service", 27),
        ("altnet-interface.service", 9), ("altnet-announce.service", 15), ("altnet-provision.service", 17),
        ("altnet-resolver@.service", 13),
        ("altnet-resolver-boot.service", 7), ("altnet-button.service", 15), ("altnet-factory-reset.service", 17),
        ("altnet-setup-ap.service", 15), ("altnet-wait-online.service", 15), ("altnet-hooks.service", 24),
        ("altnet-modem@.service", 8), ("altnet-radio@.service", 18), ("altnet-improv-ble.service", 15),
        ("altnet-improv-authorise.service", 8), ("altnet-improv-serial@.service", 15), ("altnet-mqtt.service", 15),
    ]
    private static let units =
        services.map(\.0) + [
            "altnet-providers.socket", "altnet-resolver.socket", "altnet-modem.socket", "altnet-radio.socket",
            "altnet-wpa_supplicant@.path", "altnet-announce.path", "altnet-provisioning.target",
        ]
    /// systemd 252 of Debian 12 has not heard of these, which are for Debian 13.
    private static let newer = [
        "RestartSteps", "RestartMaxDelaySec", "RestartMode", "PollLimitIntervalSec", "PollLimitBurst",
        "BindLogSockets",
    ]

    /// The units as they are here: their programs are not installed on this machine.
    private func place(_ board: Board) throws -> [String] {
        try Self.units.map { unit in
            let text = try Board.text(of: "systemd/" + unit)
                .replacing(
                    #/(/usr/bin/altnet(-mqtt)?|/usr/lib/altnet/(interface|resolver|modem|radio)|/usr/sbin/wpa_supplicant)\b/#
                ) { _ in
                    "/usr/bin/true"
                }
            let path = board.place + "/" + unit.replacing("@.", with: "@wlan0.")
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            // A socket starts a service by its template.
            try text.write(toFile: board.place + "/" + unit, atomically: true, encoding: .utf8)
            return path
        }
    }

    @Test(.enabled(if: geteuid() == 0 && Board.hasProgram("systemd-analyze"), "needs root and systemd-analyze(1)"))
    func systemdUnderstandsTheUnits() throws {
        let board = try Board()
        let verified = try Board.run("systemd-analyze", ["verify", "--man=no"] + place(board))
        let complaints = verified.said.split(separator: "\n").filter { line in
            !Self.newer.contains { line.contains($0) }
        }
        #expect(complaints.isEmpty)
        #expect(verified.status == 0)
    }

    @Test(
        .enabled(if: Board.hasProgram("systemd-analyze"), "needs systemd-analyze(1)"),
        arguments: services)
    func aServiceIsHardened(_ unit: String, threshold: Int) throws {
        let board = try Board()
        let path = try #require(place(board).first { $0.hasSuffix(unit.replacing("@.", with: "@wlan0.")) })
        let exposure = try Board.run(
            "systemd-analyze", ["security", "--offline=yes", "--threshold=\(threshold)", "--no-pager", path])
        #expect(exposure.status == 0, "\(exposure.said.suffix(200))")
        // Of less than what any service has, so that a threshold that systemd overlooks is noticed.
        let strict = try Board.run(
            "systemd-analyze", ["security", "--offline=yes", "--threshold=5", "--no-pager", path])
        #expect(strict.status != 0)
    }

    /// The agent's remaining privileges, and that its start waits for no network.
    // covers: rule/spare-capability
    @Test func runsWithoutPrivileges() throws {
        let service = try Board.text(of: "systemd/altnet.service")
        let lines = Set(service.split(separator: "\n"))
        for line in [
            "User=altnet", "NoNewPrivileges=yes", "AmbientCapabilities=CAP_NET_ADMIN CAP_NET_RAW CAP_NET_BIND_SERVICE",
            "CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_RAW CAP_NET_BIND_SERVICE", "ProtectSystem=strict",
            "PrivateTmp=yes",
            "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK AF_PACKET", "LimitCORE=0", "Restart=always",
            "LoadCredential=altnet.root-key:/etc/altnet/keys/root-key",
        ] {
            #expect(lines.contains(Substring(line)), "\(line)")
        }
        #expect(!lines.contains { $0.hasPrefix("After=") && $0.contains("network-online") })
        #expect(lines.contains { $0.hasPrefix("MemoryMax=") && $0 != "MemoryMax=infinity" })
        #expect(lines.contains { $0.hasPrefix("WatchdogSec=") })
        #expect(lines.contains { $0.hasPrefix("RestartPreventExitStatus=") && $0.contains("78") })
    }

    /// The folder of wpa_supplicant's sockets is the one that the agent looks into, in every unit that makes it.
    @Test func everybodyNamesTheSameFolderOfSockets() throws {
        let service = try Board.text(of: "systemd/altnet.service")
        let folder = try #require(service.firstMatch(of: /ALTNET_SUPPLICANT_DIR=(\S+)/)).1
        let supplicant = try Board.text(of: "wpa_supplicant/wpa_supplicant.conf")
        // An upgrade leaves a changed file as it is: the unit alone says which programs may command wpa_supplicant.
        #expect(!supplicant.contains("\nctrl_interface="))
        #expect(supplicant.contains("\nupdate_config=0\n"))
        // The lab's has it too.
        #expect(supplicant.contains("\np2p_disabled=1\n"))
        let unit = try Board.text(of: "systemd/altnet-wpa_supplicant@.service")
        #expect(unit.contains(#" -C "DIR=\#(folder) GROUP=altnet-agent" "#))
        #expect(unit.contains("\nBindPaths=\(folder) -/run/altnet /tmp\n"))
        #expect(unit.contains("\nRuntimeDirectory=\(folder.dropFirst("/run/".count))\n"))
        // Removed with the service, it would be gone for the agent while the service starts anew.
        #expect(unit.contains("\nRuntimeDirectoryPreserve=yes\n"))
    }

    @Test(.enabled(if: geteuid() == 0 && Board.hasProgram("systemd-sysusers"), "needs root and systemd-sysusers(8)"))
    func theUsersAreMade() throws {
        let board = try Board()
        try FileManager.default.createDirectory(atPath: board.place + "/etc", withIntermediateDirectories: true)
        try board.install("systemd/altnet.sysusers", as: "/usr/lib/sysusers.d/altnet.conf")
        #expect(try Board.run("systemd-sysusers", ["--root=" + board.place]).status == 0)
        let users = try String(contentsOfFile: board.place + "/etc/passwd", encoding: .utf8)
        let providers = try Board.text(of: "systemd/altnet-providers.service")
        let socket = try Board.text(of: "systemd/altnet-providers.socket")
        // Those that the units name; none of them may log in.
        let names = [
            try #require(providers.firstMatch(of: /--user (\S+)/)).1,
            try #require(providers.firstMatch(of: /--agent-user (\S+)/)).1,
            try #require(Board.text(of: "systemd/altnet-hooks.service").firstMatch(of: /--user (\S+)/)).1,
            try #require(Board.text(of: "systemd/altnet.service").firstMatch(of: /\nUser=(\S+)/)).1,
            try #require(Board.text(of: "systemd/altnet-improv-ble.service").firstMatch(of: /\nUser=(\S+)/)).1,
            try #require(Board.text(of: "systemd/altnet-improv-serial@.service").firstMatch(of: /\nUser=(\S+)/)).1,
            try #require(Board.text(of: "dbus/altnet-improv.conf").firstMatch(of: /policy user="([^"]+)"/)).1,
        ]
        #expect(Set(names) == ["altnet", "altnet-provider", "altnet-hook", "altnet-improv"])
        try board.install("systemd/altnet-mqtt.sysusers", as: "/usr/lib/sysusers.d/altnet-mqtt.conf")
        #expect(try Board.run("systemd-sysusers", ["--root=" + board.place]).status == 0)
        let both = try String(contentsOfFile: board.place + "/etc/passwd", encoding: .utf8)
        let bridge = try #require(Board.text(of: "systemd/altnet-mqtt.service").firstMatch(of: /\nUser=(\S+)/)).1
        #expect(both.split(separator: "\n").contains { $0.hasPrefix("\(bridge):") && $0.hasSuffix("nologin") })
        for name in names {
            let user = try #require(users.split(separator: "\n").first { $0.hasPrefix("\(name):") })
            #expect(user.hasSuffix("nologin"))
        }
        let groups = try String(contentsOfFile: board.place + "/etc/group", encoding: .utf8).split(separator: "\n")
        let socketGroup = try #require(socket.firstMatch(of: /SocketGroup=(\S+)/)).1
        // It has no member: the unit puts the agent there.
        let line = try #require(groups.first { $0.hasPrefix("\(socketGroup):") })
        #expect(line.hasSuffix(":"))
    }

    /// After the installation the setting of the socket is enough: the package has a provider, and the agent brings the
    /// socket that the setting names.
    // covers: seed/providers-switched
    @Test func clickThroughNeedsOneSetting() throws {
        let files = try Board.text(of: "../debian/altnet.install")
        #expect(files.contains("board/providers/click-through usr/lib/altnet/providers\n"))
        #expect(
            try Board.text(of: "providers/click-through") == "#!/bin/sh\nexec altnet provider click-through\n")
        let agent = try Board.text(of: "systemd/altnet.service")
        #expect(agent.contains("\nWants=altnet-providers.socket\n"))
        let path = try #require(
            Board.text(of: "systemd/altnet-providers.socket").firstMatch(of: /ListenStream=(\S+)/)
        ).1
        #expect(try Board.text(of: "altnet.conf").contains("#ALTNET_PROVIDERS=\(path)\n"))
        let host = try Board.text(of: "systemd/altnet-providers.service")
        #expect(host.contains("--directory /usr/lib/altnet/providers "))
    }
}
