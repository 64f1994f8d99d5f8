import AgentModel
import Foundation
import Testing

@testable import Agent

/// A line that root alone may read.
private let secret = "secret-of-root"

/// Root acts where the agent's user can plant something, and the agent was taken over.
///
/// The agent's user is `nobody` here, and its folders are below a folder of the test's own.
@Suite(
    .enabled(if: geteuid() == 0 && Board.hasProgram("setpriv"), "needs root and setpriv(1)"), .timeLimit(.minutes(10)))
struct TakenOverAgentTests {
    /// A board with avahi-daemon or systemd-resolved at work, whose interface has been taken over.
    private struct Device {
        let board: Board
        var root: String { board.place }
        var deviceId: String { root + "/var/lib/altnet/device-id" }
        var deviceName: String { root + "/run/altnet/device-name" }

        init(responder: String = "avahi-daemon") throws {
            board = try Board()
            // The agent's user has to get to its own folder.
            chmod(board.place, 0o755)
            try board.install("dns-sd/altnet.service", as: "/usr/share/altnet/dns-sd/altnet.service")
            try board.install("dns-sd/altnet.dnssd", as: "/usr/share/altnet/dns-sd/altnet.dnssd")
            try board.install("networkmanager/altnet.conf", as: "/usr/share/altnet/networkmanager.conf")
            try board.install("networkd/altnet.network", as: "/usr/share/altnet/networkd.network")
            for folder in ["/var/lib/altnet", "/run/altnet-interface", "/run/altnet", "/etc"] {
                try FileManager.default.createDirectory(atPath: root + folder, withIntermediateDirectories: true)
            }
            let agent = try #require(getpwnam("nobody")).pointee
            for folder in ["/var/lib/altnet", "/run/altnet"] { chown(root + folder, agent.pw_uid, agent.pw_gid) }
            try "wlan0\n".write(toFile: root + "/run/altnet-interface/interfaces", atomically: false, encoding: .utf8)
            try "altnet\n".write(toFile: root + "/run/altnet-interface/client", atomically: false, encoding: .utf8)
            try "#!/bin/sh\ncase $* in *' is-enabled \(responder).service') ;; *is-enabled*) exit 1 ;; esac\n".write(
                toFile: root + "/systemctl", atomically: false, encoding: .utf8)
            chmod(root + "/systemctl", 0o755)
            try (secret + "\n").write(toFile: root + "/secret", atomically: false, encoding: .utf8)
            chmod(root + "/secret", 0o600)
        }

        /// Runs a shell script as the agent's user.
        func attack(_ script: String) throws -> Int32 {
            try Board.run("setpriv", ["--reuid=nobody", "--regid=nogroup", "--clear-groups", "sh", "-c", script])
                .status
        }

        func writeId(_ bytes: [UInt8]) throws {
            try Data(bytes).write(to: URL(fileURLWithPath: deviceId))
            chmod(deviceId, 0o644)
        }

        /// Writes a name, and the id that is announced with it.
        func writeName(_ name: String) throws {
            try writeId(Array("lamp-01\n".utf8))
            try Data(name.utf8).write(to: URL(fileURLWithPath: deviceName))
            chmod(deviceName, 0o644)
        }

        /// Does as root what comes before each start of the agent.
        /// - Returns: what it said and what is announced then, nil for nothing.
        func prepare() throws -> (said: String, announced: String?) {
            let (status, said) = try Board.run(
                "env",
                [
                    "ALTNET_ROOT=" + root, "ALTNET_SYSTEMCTL=" + root + "/systemctl",
                    Board.folder + "/systemd/altnet-interface", "prepare",
                ])
            #expect(status == 0, "\(said)")
            let files = ["/etc/avahi/services/altnet.service", "/run/systemd/dnssd/altnet.dnssd"]
            return (said, files.lazy.compactMap { try? String(contentsOfFile: root + $0, encoding: .utf8) }.first)
        }
    }

    @Test(arguments: ["ln -s ../../../secret", "ln -s /etc/shadow", "ln -s /proc/1/environ", "mkdir", "mkfifo"])
    func nothingIsReadThroughWhatStandsForTheId(planting: String) throws {
        let device = try Device()
        #expect(try device.attack("cd \(device.root)/var/lib/altnet && \(planting) device-id") == 0)
        let result = try device.prepare()
        #expect(result.announced == nil)
        #expect(!result.said.contains(secret))
    }

    @Test(arguments: ["ln -s ../../secret", "mkdir", "mkfifo"])
    func nothingIsReadThroughWhatStandsForTheName(planting: String) throws {
        let device = try Device()
        try device.writeId(Array("lamp-01\n".utf8))
        #expect(try device.attack("cd \(device.root)/run/altnet && \(planting) device-name") == 0)
        let result = try device.prepare()
        #expect(result.announced?.contains("id=lamp-01<") == true && result.announced?.contains("name=") == false)
        #expect(!result.said.contains(secret))
    }

    /// A second name of a file is no link, and the rights of the file still count.
    @Test func nothingIsReadThroughASecondName() throws {
        let device = try Device()
        #expect(link(device.root + "/secret", device.deviceId) == 0)
        let result = try device.prepare()
        #expect(result.announced == nil)
        #expect(!result.said.contains(secret))
    }

    @Test func whatWasAnnouncedIsWithdrawn() throws {
        let device = try Device()
        try device.writeId(Array("9f86d081884c7d65\n".utf8))
        #expect(try device.prepare().announced?.contains("id=9f86d081884c7d65<") == true)
        #expect(unlink(device.deviceId) == 0)
        #expect(try device.attack("cd \(device.root)/var/lib/altnet && ln -s ../../../secret device-id") == 0)
        #expect(try device.prepare().announced == nil)
    }

    @Test(arguments: [
        "", "\n", "two words\n", "one\nsecond\n", "tab\there\n", "h\u{f6}me\n", "\u{1b}[2J\n",
        String(repeating: "x", count: 65) + "\n", String(repeating: "x", count: 100_000),
    ])
    func whatIsNoIdIsNotAnnounced(content: String) throws {
        let device = try Device()
        try device.writeId(Array(content.utf8))
        #expect(try device.prepare().announced == nil)
    }

    @Test(arguments: [
        (String(repeating: "x", count: 64), String(repeating: "x", count: 64)),
        ("]]></txt-record><port>1</port>&amp;", "]]&gt;&lt;/txt-record&gt;&lt;port&gt;1&lt;/port&gt;&amp;amp;"),
        ("x/e;s/.*/reboot/;#", "x/e;s/.*/reboot/;#"), (#"\1\n&"#, #"\1\n&amp;"#),
        ("$(reboot)`reboot`", "$(reboot)`reboot`"),
    ])
    func anIdIsTextAndNothingElse(id: String, announced: String) throws {
        let device = try Device()
        try device.writeId(Array((id + "\n").utf8))
        #expect(try device.prepare().announced?.contains("<txt-record>id=\(announced)</txt-record>") == true)
    }

    // covers: seed/device-name
    @Test func aNameIsTextForEachResponder() throws {
        for (responder, line) in [
            ("avahi-daemon", #"<txt-record>name="a" 'b' \c 50% &amp;&lt;/x&gt; Küche</txt-record>"#),
            ("systemd-resolved", #""name=\"a\" \'b\' \\c 50% &</x> Küche""#),
        ] {
            let device = try Device(responder: responder)
            try device.writeName(#""a" 'b' \c 50% &</x> Küche"#)
            #expect(try device.prepare().announced?.contains(line) == true)
            for text in ["a\u{1b}b", "a\nb", String(repeating: "a", count: 251)] {
                try device.writeName(text)
                #expect(try device.prepare().announced?.contains("name=") == false)
            }
        }
    }

    /// The agent writes the file that the helper reads, and that systemd watches.
    // covers: seed/device-name
    @Test func theNameThatTheAgentWritesIsAnnounced() throws {
        let device = try Device()
        try device.writeId(Array("lamp-01\n".utf8))
        let owner = try #require(getpwnam("nobody")).pointee.pw_uid
        func announce(_ name: DeviceName?) throws -> String {
            try DeviceNameFile(directory: device.root + "/run/altnet").write(name, boot: "b-1")
            chown(device.deviceName, owner, gid_t.max)
            return try #require(try device.prepare().announced)
        }
        #expect(try announce(DeviceName("Küche & Bad")).contains("<txt-record>name=Küche &amp; Bad</txt-record>"))
        let lamps = String(repeating: "💡", count: 62)
        #expect(try announce(DeviceName(lamps + "💡💡")).contains("<txt-record>name=\(lamps)</txt-record>"))
        #expect(try !announce(nil).contains("name="))
        let file = try AgentSettings(environment: [:]).socketFolder + "/" + DeviceNameFile.name
        #expect(try Board.text(of: "systemd/altnet-announce.path").contains("\nPathChanged=\(file)\n"))
    }

    @Test func anIdIsTextForResolvedToo() throws {
        let device = try Device(responder: "systemd-resolved")
        try device.writeId(Array(#"a"b'c\d%n/e"#.utf8))
        #expect(try device.prepare().announced?.contains(#"TxtText=v=1 id=a\"b\'c\\d%n/e"# + "\n") == true)
    }
}

/// The files of `board` say who owns which file.
@Suite struct OwnershipTests {
    /// Those that root runs or reads, and systemd and udev as root.
    private static let files: [String] = {
        func files(_ folder: String) -> [String] {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: Board.folder + "/" + folder)) ?? []
            return names.sorted().map { "\(folder)/\($0)" }
        }
        let scripts = files("../debian").filter {
            ["postinst", "postrm", "prerm"].contains(URL(filePath: $0).pathExtension)
        }
        let others = [
            "udev/90-altnet-flash.rules", "wpa_supplicant/wpa_supplicant.conf", "buildroot/package/altnet/S45altnet",
        ]
        return files("systemd") + scripts + others
    }()
    /// A path below a folder of the agent's, and why root may name it.
    private static let known = [
        // Watched, and read with the agent's rights only.
        "PathChanged=/run/altnet/device-name", #"read_as_agent 252 "$root/run/altnet/device-name""#,
        // systemd only looks whether it is there.
        "ConditionPathExists=/run/altnet/altnet.sock",
        // Moved while the folder is root's alone.
        "if [ -f /var/lib/altnet/root-key ]", "for file in /var/lib/altnet/* /var/lib/altnet; do",
        "[ ! -f /var/lib/altnet/$key ] || mv /var/lib/altnet/$key /etc/altnet/keys/$key",
    ]

    @Test(arguments: files) func rootNamesNoPathBelowAFolderOfTheAgents(file: String) throws {
        for line in try Board.text(of: file).split(separator: "\n") where !line.hasPrefix("#") {
            guard line.contains("/run/altnet/") || line.contains("/var/lib/altnet/") else { continue }
            #expect(Self.known.contains { line.contains($0) }, "\(file): \(line)")
        }
    }

    /// Users are put in the group `altnet`. So nothing is given to it but the agent itself, whose socket is its
    /// group's. Improv, the bridge to a broker and the runner of hooks use the agent.
    @Test(arguments: files) func nothingButTheAgentIsGivenToTheGroupOfUsers(file: String) throws {
        for line in try Board.text(of: file).split(separator: "\n") where !line.hasPrefix("#") {
            let given = line.firstMatch(of: /(?i)group(?:s)?\s*=+\s*"?altnet(?![-\w])/)
            // The second and third one run a command of the agent's user.
            let ofAgent = ["altnet", "altnet-setup-ap", "altnet-wait-online"].map { "systemd/\($0).service" }
            let isAgent = ofAgent.contains(file) && line == "Group=altnet"
            let isImprov = file.hasPrefix("systemd/altnet-improv-") && line.hasPrefix("SupplementaryGroups=altnet")
            let isBridge = file == "systemd/altnet-mqtt.service" && line == "SupplementaryGroups=altnet"
            // The runner gives its hooks the groups of their own user.
            let isRunner = file == "systemd/altnet-hooks.service" && line == "SupplementaryGroups=altnet"
            #expect(given == nil || isAgent || isImprov || isBridge || isRunner, "\(file): \(line)")
        }
    }

    @Test func theAgentIsInTheGroupThatItsSocketsAreFor() throws {
        let agent = try Board.text(of: "systemd/altnet.service")
        let group = try #require(agent.firstMatch(of: /\nSupplementaryGroups=(\S+)\n/)).1
        #expect(group != "altnet")
        #expect(try Board.text(of: "systemd/altnet-providers.socket").contains("\nSocketGroup=\(group)\n"))
        #expect(try Board.text(of: "systemd/altnet-resolver.socket").contains("\nSocketGroup=\(group)\n"))
        let supplicant = try Board.text(of: "systemd/altnet-wpa_supplicant@.service")
        #expect(supplicant.contains("\nGroup=\(group)\n") && supplicant.contains(" GROUP=\(group)\""))
        #expect(try Board.text(of: "systemd/altnet.sysusers").contains("\ng \(group) "))
    }

    /// A command can name a library for it to load (CVE-2024-5290), and a file to read.
    @Test func wpaSupplicantSeesAndLoadsWhatItNeedsAlone() throws {
        let lines = try Board.text(of: "systemd/altnet-wpa_supplicant@.service").split(separator: "\n")
        let root = try #require(lines.first { $0.hasPrefix("RootDirectory=") }).dropFirst("RootDirectory=".count)
        #expect(try Board.text(of: "systemd/altnet.tmpfiles").contains("\nd \(root) 0755 root root -\n"))
        #expect(lines.contains("ProtectSystem=strict") && lines.contains("TemporaryFileSystem=/run:ro"))
        func paths(_ name: String) -> Set<Substring> {
            let values = lines.filter { $0.hasPrefix(name + "=") }
                .map { $0.drop { $0 != "=" }.dropFirst() }
            return Set(values.flatMap { $0.split(separator: " ") }.map { $0.trimmingPrefix("-") })
        }
        let system: Set<Substring> = ["/usr", "/bin", "/sbin", "/lib", "/lib64"]
        // Public files: no key is among them.
        #expect(
            paths("BindReadOnlyPaths").subtracting(system) == [
                "/etc/altnet/wpa_supplicant.conf", "/etc/group", "/etc/ssl/openssl.cnf",
                "/etc/ssl/certs/ca-certificates.crt",
            ])
        #expect(paths("ExecPaths") == Set(system.map { "+" + $0 }))
        // systemd gives what it mounts the rights of its source: each place that can be written is named.
        #expect(paths("BindPaths").isSubset(of: paths("NoExecPaths").map { $0.dropFirst() }))
        #expect(paths("NoExecPaths").isSuperset(of: ["+/", "+/dev", "+/run"]))
    }
}
