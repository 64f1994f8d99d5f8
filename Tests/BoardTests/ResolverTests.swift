import Foundation
import Testing

/// Root's helper for name servers, which carries out what the agent's user asks, taken over or not.
@Suite(
    .enabled(if: ["flock", "dash", "busybox"].allSatisfy(Board.hasProgram), "needs flock(1), dash and busybox"),
    .timeLimit(.minutes(10)))
struct ResolverTests {
    /// Debian's and busybox's.
    private static let shells = ["dash", "busybox sh"]
    private static let before = "nameserver 198.51.100.1\n"
    private static let answer = (
        file: "ok /etc/resolv.conf\n", resolved: "ok systemd-resolved\n", resolvconf: "ok resolvconf\n"
    )

    /// A board of which altnet has taken wlan0 and wlan1. Its programs for names are scripts that note their calls.
    private struct Device {
        let board: Board
        let shell: String
        var root: String { board.place }
        var file: String { root + "/etc/resolv.conf" }
        var kept: String { root + "/etc/resolv.conf.before-altnet" }

        init(shell: String = "dash", programs: [String] = [], resolver: String? = nil) throws {
            (board, self.shell) = (try Board(), shell)
            for folder in ["/etc/altnet", "/run/altnet-interface", "/programs"] {
                try FileManager.default.createDirectory(atPath: root + folder, withIntermediateDirectories: true)
            }
            try write("wlan0 wlan1\n", to: "/run/altnet-interface/interfaces")
            try write(before, to: "/etc/resolv.conf")
            if let resolver { try write("ALTNET_RESOLVER=\(resolver)\n", to: "/etc/altnet/altnet.conf") }
            try program("systemctl", "[ -e \(root)/programs/resolvectl ]")
            for name in programs {
                try program(
                    name, "for word in \"$@\"; do printf '%s|' \"$word\"; done >>\(root)/calls; echo >>\(root)/calls")
            }
            if programs.contains("resolvconf") {
                try program(
                    "resolvconf",
                    "{ echo \"$* ${IF_METRIC-}\"; case $1 in -a) cat ;; esac; } >>\(root)/calls")
            }
        }

        func write(_ text: String, to path: String) throws {
            try text.write(toFile: root + path, atomically: false, encoding: .utf8)
        }

        func program(_ name: String, _ script: String) throws {
            try write("#!/bin/sh\n\(script)\n", to: "/programs/" + name)
            chmod(root + "/programs/" + name, 0o755)
        }

        /// - Returns: the answer.
        func ask(_ bytes: some Sequence<UInt8>) throws -> String {
            try Data(bytes).write(to: URL(fileURLWithPath: root + "/question"))
            return try run("")
        }

        func ask(_ lines: String) throws -> String { try ask("altnet-resolver 1\n\(lines)end\n".utf8) }

        func run(_ action: String) throws -> String {
            let (status, said) = try Board.run(
                "sh",
                [
                    "-c",
                    """
                    PATH=\(root)/programs:$PATH ALTNET_ROOT=\(root) ALTNET_SYSTEMCTL=\(root)/programs/systemctl \
                    \(shell) \(Board.folder)/systemd/altnet-resolver \(action) <\(root)/question
                    """,
                ])
            #expect(status == 0, "\(said)")
            return said
        }

        func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
        /// Without comments.
        var servers: String? {
            text(file)?.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { $0 + "\n" }.joined()
        }
        var calls: [String] {
            (text(root + "/calls") ?? "").split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(
                String.init)
        }
        var isLink: Bool { (try? FileManager.default.destinationOfSymbolicLink(atPath: file)) != nil }

        /// Everything in /run is gone after that.
        func powerCut() throws {
            try FileManager.default.removeItem(atPath: root + "/run")
            try FileManager.default.createDirectory(atPath: root + "/run", withIntermediateDirectories: true)
        }

        private var before: String { ResolverTests.before }
    }

    private static let home =
        "interface wlan0\ncarries\nserver 192.0.2.1\nserver fe80::1\ndomain lan\ndomain home.example\n"

    // MARK: /etc/resolv.conf

    // covers: seed/no-resolved
    @Test(arguments: shells) func theFileHasTheServersOfWhatCarriesFirst(shell: String) throws {
        let device = try Device(shell: shell)
        let answer = try device.ask(Self.home + "interface wlan1\nserver 2001:db8::53\ndomain other.example\n")
        #expect(answer == Self.answer.file)
        #expect(
            device.servers == """
                nameserver 192.0.2.1
                nameserver fe80::1%wlan0
                search lan home.example
                nameserver 2001:db8::53

                """)
        #expect(device.text(device.kept) == Self.before)
    }

    /// A network after another is no write to the disk: the link and what is kept stay as they are.
    @Test(arguments: shells) func aChangeWritesInRunAlone(shell: String) throws {
        let device = try Device(shell: shell)
        #expect(try device.ask(Self.home) == Self.answer.file)
        let names = { try FileManager.default.contentsOfDirectory(atPath: device.root + "/etc").sorted() }
        var (first, second) = (stat(), stat())
        #expect(lstat(device.root + "/etc", &first) == 0)
        #expect(try device.ask("interface wlan1\ncarries\nserver 192.0.2.129\n") == Self.answer.file)
        #expect(device.servers == "nameserver 192.0.2.129\n")
        #expect(lstat(device.root + "/etc", &second) == 0)
        #expect(first.st_mtim.tv_sec == second.st_mtim.tv_sec && first.st_mtim.tv_nsec == second.st_mtim.tv_nsec)
        #expect(try names() == ["altnet", "resolv.conf", "resolv.conf.before-altnet"])
    }

    @Test(arguments: shells) func withoutANetworkWhatWasThereCounts(shell: String) throws {
        let device = try Device(shell: shell)
        #expect(try device.ask(Self.home) == Self.answer.file)
        #expect(try device.ask("") == Self.answer.file)
        #expect(device.servers == Self.before)
    }

    // covers: seed/other-managers
    @Test(arguments: shells, ["release", "boot"]) func itComesBack(shell: String, action: String) throws {
        let device = try Device(shell: shell)
        #expect(try device.ask(Self.home) == Self.answer.file)
        if action == "boot" { try device.powerCut() }
        #expect(try device.run(action) == "")
        #expect(!device.isLink && device.text(device.file) == Self.before)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: device.root + "/etc").sorted() == [
                "altnet", "resolv.conf",
            ])
    }

    /// As systemd-resolved has it, and where there is none.
    @Test(arguments: ["../run/systemd/resolve/stub-resolv.conf", nil])
    func aLinkComesBackAndSoDoesNothing(target: String?) throws {
        for (shell, action) in Self.shells.flatMap({ [($0, "release"), ($0, "boot")] }) {
            let device = try Device(shell: shell)
            try FileManager.default.removeItem(atPath: device.file)
            if let target {
                try FileManager.default.createSymbolicLink(atPath: device.file, withDestinationPath: target)
            }
            #expect(try device.ask(Self.home) == Self.answer.file)
            #expect(device.servers?.hasPrefix("nameserver 192.0.2.1\n") == true)
            if action == "boot" { try device.powerCut() }
            #expect(try device.run(action) == "")
            #expect((try? FileManager.default.destinationOfSymbolicLink(atPath: device.file)) == target)
        }
    }

    /// In its place, or through the link.
    @Test(arguments: [true, false], ["release", "boot"])
    func whatAnotherProgramWroteIsLeftAlone(replaces: Bool, action: String) throws {
        for shell in Self.shells {
            let device = try Device(shell: shell)
            #expect(try device.ask(Self.home) == Self.answer.file)
            if replaces { #expect(unlink(device.file) == 0) }
            let other = "nameserver 203.0.113.1\n"
            try other.write(toFile: device.file, atomically: false, encoding: .utf8)
            #expect(try device.ask(Self.home).hasPrefix("refused another program"))
            #expect(device.text(device.file) == other)
            if action == "boot", replaces { try device.powerCut() }
            #expect(try device.run(action) == "")
            #expect(!device.isLink && device.text(device.file) == other)
            #expect(lstatFails(device.kept))
        }
    }

    private func lstatFails(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) != 0
    }

    /// For a root that cannot be written.
    @Test func anImageMayHaveTheLinkItself() throws {
        let device = try Device()
        try FileManager.default.removeItem(atPath: device.file)
        try FileManager.default.createSymbolicLink(
            atPath: device.file, withDestinationPath: "../run/altnet-resolver/resolv.conf")
        #expect(try device.ask(Self.home) == Self.answer.file)
        #expect(device.servers?.hasPrefix("nameserver 192.0.2.1\n") == true && lstatFails(device.kept))
        #expect(try device.run("release") == "")
        #expect(device.text(device.file) == "")
    }

    // MARK: Programs that see to names

    @Test(arguments: shells) func resolvedIsToldOfEachInterface(shell: String) throws {
        let device = try Device(shell: shell, programs: ["resolvectl", "resolvconf"])
        #expect(try device.ask(Self.home + "interface wlan1\nserver 192.0.2.129\n") == Self.answer.resolved)
        #expect(
            device.calls == [
                "dns|wlan0|192.0.2.1|fe80::1|", "domain|wlan0|lan|home.example|", "default-route|wlan0|yes|",
                "dns|wlan1|192.0.2.129|", "domain|wlan1||", "default-route|wlan1|no|",
            ])
        #expect(try device.ask("interface wlan1\ncarries\n") == Self.answer.resolved)
        #expect(
            device.calls.suffix(4) == [
                "revert|wlan0|", "dns|wlan1||", "domain|wlan1||", "default-route|wlan1|yes|",
            ])
        #expect(try device.run("release") == "")
        #expect(device.calls.last == "revert|wlan1|")
        #expect(device.text(device.file) == Self.before)
    }

    /// systemd-networkd did so while it had the interface.
    @Test func resolvedAnnouncesTheDeviceOnTheInterface() throws {
        let device = try Device(programs: ["resolvectl"])
        try FileManager.default.createDirectory(
            atPath: device.root + "/run/systemd/dnssd", withIntermediateDirectories: true)
        try device.write("", to: "/run/systemd/dnssd/altnet.dnssd")
        #expect(try device.ask(Self.home) == Self.answer.resolved)
        #expect(device.calls.last == "mdns|wlan0|yes|")
    }

    @Test(arguments: shells) func resolvconfIsToldInOrder(shell: String) throws {
        let device = try Device(shell: shell, programs: ["resolvconf"])
        #expect(try device.ask(Self.home + "interface wlan1\nserver 192.0.2.129\n") == Self.answer.resolvconf)
        #expect(
            device.calls == [
                "-a wlan0.altnet 601", "nameserver 192.0.2.1", "nameserver fe80::1%wlan0", "search lan home.example",
                "-a wlan1.altnet 602", "nameserver 192.0.2.129",
            ])
        #expect(try device.ask("") == Self.answer.resolvconf)
        #expect(device.calls.suffix(2) == ["-d wlan0.altnet ", "-d wlan1.altnet "])
        #expect(try device.run("release") == "")
        #expect(device.text(device.file) == Self.before)
    }

    @Test func theSettingCounts() throws {
        let device = try Device(programs: ["resolvectl", "resolvconf"], resolver: "file")
        #expect(try device.ask(Self.home) == Self.answer.file)
        // What was told in the place of before is taken back.
        try device.write("ALTNET_RESOLVER=\"none\"\n", to: "/etc/altnet/altnet.conf")
        #expect(try device.ask(Self.home) == "ok none (ALTNET_RESOLVER)\n")
        #expect(device.text(device.file) == Self.before && !device.isLink && device.calls.isEmpty)
        try device.write("ALTNET_RESOLVER=resolvconf\n", to: "/etc/altnet/altnet.conf")
        #expect(try device.ask(Self.home) == Self.answer.resolvconf)
        try device.write("ALTNET_RESOLVER=bind\n", to: "/etc/altnet/altnet.conf")
        #expect(try device.ask(Self.home).hasPrefix("refused ALTNET_RESOLVER "))
        let bare = try Device(resolver: "resolved")
        #expect(try bare.ask(Self.home).hasPrefix("refused systemd-resolved "))
    }

    @Test func aFailureIsToldAndUndone() throws {
        let device = try Device(programs: ["resolvectl"])
        try device.program("resolvectl", "echo \"$*\" >>\(device.root)/calls; [ $1 = revert ]")
        #expect(try device.ask(Self.home).contains("refused resolvectl "))
        #expect(try device.run("release") == "")
        #expect(device.calls.last == "revert wlan0")
    }

    // MARK: Questions of an agent that was taken over

    private static let refused: [String] = [
        // Interfaces that are not altnet's.
        "interface eth0\nserver 192.0.2.1\n", "interface lo\n", "interface ../../etc\n", "interface \n", "interface\n",
        "interface wlan0 wlan1\n", "interface *\n", "interface wlan?\n", "interface -h\n",
        "interface wlan0\ninterface wlan0\n",
        // Addresses that are none, or the device itself.
        "interface wlan0\nserver localhost\n", "interface wlan0\nserver 127.0.0.1\n", "interface wlan0\nserver ::1\n",
        "interface wlan0\nserver 0.0.0.0\n", "interface wlan0\nserver 224.0.0.251\n",
        "interface wlan0\nserver ff02::fb\n",
        "interface wlan0\nserver 192.0.2.256\n", "interface wlan0\nserver 192.0.2.01\n",
        "interface wlan0\nserver 1.2.3\n",
        "interface wlan0\nserver 1.2.3.4.5\n", "interface wlan0\nserver 99999999999999999999.1.1.1\n",
        "interface wlan0\nserver 1:2:3:4:5:6:7\n", "interface wlan0\nserver 1::2::3\n", "interface wlan0\nserver :1\n",
        "interface wlan0\nserver fe80::1%eth0\n", "interface wlan0\nserver 192.0.2.1#evil.example\n",
        "interface wlan0\nserver 192.0.2.1 192.0.2.2\n", "interface wlan0\nserver --help\n",
        "interface wlan0\nserver \n",
        // Commands, and what a shell makes files of.
        "interface wlan0\nserver $(touch touched)\n", "interface wlan0\nserver `touch touched`\n",
        "interface wlan0\nserver 192.0.2.1;touch touched\n", "interface wlan0\ndomain $(touch touched)\n",
        "interface wlan0\ndomain a|touch touched\n", "interface wlan0\ndomain *\n", "interface $(touch touched)\n",
        "interface wlan0\ndomain ${IFS}\n", "interface wlan0\nserver 192.0.2.1\\\n", "$(touch touched)\n",
        // Domains that are options, or more than one word.
        "interface wlan0\ndomain -v\n", "interface wlan0\ndomain ~.\n", "interface wlan0\ndomain .\n",
        "interface wlan0\ndomain lan.\n", "interface wlan0\ndomain a..b\n", "interface wlan0\ndomain lan options\n",
        "interface wlan0\ndomain \(String(repeating: "x", count: 64))\n",
        "interface wlan0\ndomain \(Array(repeating: "abc", count: 64).joined(separator: "."))\n",
        // Out of order, or too much.
        "server 192.0.2.1\n", "domain lan\n", "carries\n", "end\ninterface wlan0\n", "release\n", "altnet-resolver 1\n",
        "interface wlan0\ninterface wlan1\ncarries\n",
        "interface wlan0\n" + String(repeating: "server 192.0.2.1\n", count: 9),
        "interface wlan0\n" + String(repeating: "domain lan\n", count: 7), String(repeating: "\n", count: 3),
    ]

    @Test(arguments: shells) func aQuestionOfAnotherGrammarDoesNothing(shell: String) throws {
        let device = try Device(shell: shell, programs: ["resolvectl"])
        for question in Self.refused { #expect(try device.ask(question).hasPrefix("refused "), "\(question)") }
        try expectUntouched(device)
    }

    @Test(arguments: shells) func bytesThatAreNoQuestionDoNothing(shell: String) throws {
        let device = try Device(shell: shell, programs: ["resolvectl"])
        let good = Array("altnet-resolver 1\n\(Self.home)end\n".utf8)
        let bad: [[UInt8]] = [
            [], Array("\n".utf8), Array(good.dropLast()), Array(good.dropFirst()), good + good, good + [0], [0] + good,
            Array(good.prefix(40)) + [0] + Array(good.dropFirst(40)), good.map { $0 == 10 ? 13 : $0 },
            good.map { $0 == 32 ? 9 : $0 }, good.map { $0 | 0x80 }, Array(repeating: 0x41, count: 1_000_000),
            Array("altnet-resolver 1\n".utf8) + Array(repeating: 10, count: 100_000),
            Array("altnet-resolver 1\ninterface ".utf8) + Array(repeating: 0x41, count: 8000),
            Array("altnet-resolver 2\nend\n".utf8),
            Array("altnet-resolver 1\ninterface wlan0\nserver 192.0.2.\u{b9}\nend\n".utf8),
            (0...255).map { UInt8($0) },
        ]
        for question in bad { #expect(try device.ask(question).hasPrefix("refused "), "\(question.prefix(80))") }
        try expectUntouched(device)
    }

    /// Without an interface of altnet's there is nothing to ask for.
    @Test func nothingIsDoneBeforeAnInterfaceIsTaken() throws {
        let device = try Device()
        #expect(unlink(device.root + "/run/altnet-interface/interfaces") == 0)
        #expect(try device.ask(Self.home).hasPrefix("refused "))
        try expectUntouched(device)
    }

    private func expectUntouched(_ device: Device) throws {
        #expect(device.calls.isEmpty && !device.isLink && device.text(device.file) == Self.before)
        #expect(lstatFails(device.kept) && lstatFails(device.root + "/touched") && lstatFails("touched"))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: device.root + "/run").sorted()
                == ["altnet-interface", "altnet-resolver"])
        // No part of a request is kept as a name of a file.
        let left = try FileManager.default.contentsOfDirectory(atPath: device.root + "/run/altnet-resolver")
        #expect(Set(left).isSubset(of: ["lock", "request"]))
    }
}
