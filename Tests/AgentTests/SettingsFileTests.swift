import AgentModel
import Glibc
import Testing

@testable import Agent

// covers: seed/user-firmware
@Suite struct SettingsFileTests {
    private func read(_ text: String) -> SettingsFile { SettingsFile(path: "/f", content: Array(text.utf8)) }

    private func values(_ text: String) -> [String: String] {
        Dictionary(uniqueKeysWithValues: read(text).entries.map { ($0.name, $0.value) })
    }

    @Test func readsWhatSystemdReads() {
        let text = """
            # a comment
              ; another one
            ALTNET_INTERFACE=wlan1

            \t ALTNET_MARGIN_DB = 9 \t
            ALTNET_TARGETS="a=b.example:1 c=d.example:2"
            ALTNET_VALIDATION_BODY='it is "right"\\'
            ALTNET_RECORD="/a\\\\b\\"c\\$d\\`e"\r
            ALTNET_KEYFILE=/a#b;c
            ALTNET_ROOT_KEY=
            """
        #expect(
            values(text) == [
                "ALTNET_INTERFACE": "wlan1", "ALTNET_MARGIN_DB": "9", "ALTNET_TARGETS": "a=b.example:1 c=d.example:2",
                "ALTNET_VALIDATION_BODY": "it is \"right\"\\", "ALTNET_RECORD": "/a\\b\"c$d`e",
                "ALTNET_KEYFILE": "/a#b;c", "ALTNET_ROOT_KEY": "",
            ])
        #expect(read(text).problems.isEmpty)
        #expect(read("").entries.isEmpty && read("").problems.isEmpty)
    }

    @Test(arguments: [
        ("ALTNET_INTERFACE", "the line is \"ALTNET_INTERFACE\""), ("export ALTNET_A=1", "sets \"export ALTNET_A\""),
        ("altnet_a=1", "sets \"altnet_a\""), ("=1", "sets \"\""), ("A=\"b", "no closing quote"),
        ("A='b", "no closing quote"), ("A=\"b\" # c", "\" # c\" after"), ("A=b\"c\"", "with \" in it"),
        ("A=b\\", "with \\ in it"), ("A=\"b\\n\"", "a backslash that is not before"),
        ("A=\"b\\", "a backslash that is not before"), ("A=\u{1}", "control character: \"A=\\x01\""),
        ("A=\u{0}b", "control character"), ("\u{feff}A=1", "sets \"\\xef\\xbb\\xbfA\""),
    ])
    func refusesTheRestWithItsLine(line: String, problem: String) throws {
        let file = read("# first\n\(line)\nB=1\n")
        let found = try #require(file.problems.first)
        #expect(file.problems.count == 1)
        #expect(found.description.hasPrefix("/f:2: "))
        #expect(found.description.contains(problem), "\(found)")
        #expect(!found.allowed.isEmpty)
        #expect(file.entries.map(\.name) == ["B"], "the rest is read all the same")
    }

    @Test func whatIsSetTwiceIsRefused() {
        let file = read("A=1\nB=2\nA=1\n")
        let problem = file.problems.first
        #expect(file.problems.count == 1 && problem?.name == "A" && problem?.origin == .file(path: "/f", line: 3))
        #expect(problem?.problem.contains("line 1") == true)
    }

    @Test func bytesThatAreNoTextAreRefused() {
        let file = SettingsFile(path: "/f", content: Array("A=1\nB=".utf8) + [0xff, 0x0a])
        #expect(file.problems.map(\.origin) == [.file(path: "/f", line: 2)])
        #expect(file.problems.first?.problem.contains("UTF-8") == true)
    }

    /// Nothing that could move a cursor or make a line of its own gets out.
    @Test func hostileBytesAreShownEscaped() {
        let file = SettingsFile(path: "/f\u{1b}[2J", content: Array("\u{1b}]0;x\u{7}\u{202e}\n".utf8))
        let text = file.problems.map(\.description).joined()
        #expect(!text.isEmpty && text == text.printable, "\(text.printable)")
        let long = read("ALTNET_INTERFACE" + String(repeating: "x", count: 5000))
        #expect(long.problems.map(\.description.count).max() ?? 0 < 400)
    }

    @Test func whatIsNoFileOfUsableSizeIsRefused() async throws {
        try await inFolder { folder in
            func problem(_ path: String) -> String { SettingsFile(path: path).problems.map(\.description).joined() }
            #expect(problem(folder + "/none").contains("may be empty"))
            #expect(problem(folder).contains("a regular file"))
            try #require(mkfifo(folder + "/pipe", 0o600) == 0)
            #expect(problem(folder + "/pipe").contains("a regular file"))
            try write(String(repeating: "#", count: SettingsFile.maximumLength), to: folder + "/large")
            #expect(problem(folder + "/large").isEmpty)
            try write(String(repeating: "#", count: SettingsFile.maximumLength + 1), to: folder + "/larger")
            #expect(problem(folder + "/larger").contains("65536 bytes"))
        }
    }

    // MARK: File and environment together

    @Test func theEnvironmentCountsBeforeTheFileAndThatIsSaid() async throws {
        try await inFolder { folder in
            let path = folder + "/conf"
            try write("ALTNET_MARGIN_DB=9\n\nALTNET_INTERFACE=wlan1\n", to: path)
            let settings = try SettingsSource(
                file: path, environment: ["ALTNET_INTERFACE": "wlan2", "PATH": "/bin"]
            ).read()
            #expect(settings.interface == "wlan2" && settings.policy.margin == 9)
            #expect(settings.remarks.count == 1)
            let note = try #require(settings.remarks.first)
            #expect(note.contains("ALTNET_INTERFACE") && note.contains("\(path):3"))
        }
    }

    @Test func anOldNameCountsAsThePresentOneWithAWarning() async throws {
        let names = Setting.all.map(\.name)
        for (old, present) in Setting.renamed { #expect(names.contains(present) && !names.contains(old)) }

        let settings = try AgentSettings(environment: ["ALTNET_RESCUE_INTERFACE": "ap0"])
        #expect(settings.setupAccessPoint?.interface == "ap0")
        #expect(
            settings.warnings == [
                "ALTNET_RESCUE_INTERFACE is now ALTNET_SETUP_AP_INTERFACE; the old name is read until the next version"
            ])
        #expect(try AgentSettings(environment: ["ALTNET_SETUP_AP_INTERFACE": "ap0"]).warnings.isEmpty)
        #expect(throws: InvalidSettings.self) { try AgentSettings(environment: ["ALTNET_RESCUE": "maybe"]) }
        #expect(throws: InvalidSettings.self) { try AgentSettings(environment: ["ALTNET_RESCUE_X": "yes"]) }
    }

    @Test(arguments: Setting.removed) func aSettingThatWasRemovedWarnsWhateverItsValue(name: String) throws {
        #expect(!Setting.all.map(\.name).contains(name))
        #expect(try AgentSettings(environment: [name: "never"]).warnings.count == 1)
    }

    @Test(arguments: [("ALTNET_RESCUE", "ALTNET_SETUP_AP"), ("ALTNET_SETUP_AP", "ALTNET_RESCUE")])
    func aSettingIsSetByOneOfItsNames(first: String, second: String) async throws {
        try await inFolder { folder in
            let path = folder + "/conf"
            try write("\(first)=yes\n\(second)=no\n", to: path)
            let error = #expect(throws: InvalidSettings.self) {
                try SettingsSource(file: path, environment: [:]).read()
            }
            #expect(error?.problems.map(\.name) == [second])
            #expect(error?.problems.first?.origin == .file(path: path, line: 2))
            #expect(error?.lines.first?.contains("\(path):1") == true)
            #expect(throws: InvalidSettings.self) { try AgentSettings(environment: [first: "yes", second: "no"]) }

            // The environment counts before the file, by either name.
            try write("\(first)=yes\n", to: path)
            let settings = try SettingsSource(file: path, environment: [second: "no"]).read()
            #expect(settings.setupAccessPoint == nil && settings.remarks.count == 1 && settings.warnings.count == 1)
        }
    }

    @Test func everythingThatIsWrongIsToldAtOnceInTheOrderOfTheFile() async throws {
        try await inFolder { folder in
            let path = folder + "/conf"
            try write(
                """
                ALTNET_WEAK_2G_DBM=-90
                nonsense
                ALTNET_MARGIN_DB=0
                ALTNET_INTERFCE=wlan0
                ALTNET_VALIDATION_DOUBT_LIMIT_S=25
                ALTNET_VALIDATION_LIMIT_S=never
                LANG=C
                """, to: path)
            let error = #expect(throws: InvalidSettings.self) {
                try SettingsSource(file: path, environment: ["ALTNET_LAN_PORT": "x"]).read()
            }
            // Line 5 is not longer than ALTNET_VALIDATION_LIMIT_S, whose value is unknown.
            let expected: [(place: String, found: [String])] = [
                ("\(path):1", ["ALTNET_WEAK_2G_DBM", "-90", "-80", "ALTNET_CRITICAL_2G_DBM", "ALTNET_FLOOR_2G_DBM"]),
                ("\(path):2", ["\"nonsense\"", "NAME=VALUE"]),
                ("\(path):3", ["ALTNET_MARGIN_DB", "\"0\"", "1 to 40"]),
                ("\(path):4", ["ALTNET_INTERFCE", "Docs/reference/settings.md", "ALTNET_INTERFACE"]),
                ("\(path):6", ["ALTNET_VALIDATION_LIMIT_S", "\"never\""]),
                ("\(path):7", ["LANG"]),
                ("environment", ["ALTNET_LAN_PORT", "\"x\"", "0 to 65535"]),
            ]
            let lines = error?.lines ?? []
            #expect(lines.count == expected.count)
            for (line, expected) in zip(lines, expected) {
                #expect(line.hasPrefix("\(expected.place): "))
                for found in expected.found { #expect(line.contains(found)) }
            }
        }
    }

    @Test func aContradictionIsSaidOfTheLineThatIsThere() async throws {
        try await inFolder { folder in
            let path = folder + "/conf"
            try write("\nALTNET_CRITICAL_5G_DBM=-60\n", to: path)
            let error = #expect(throws: InvalidSettings.self) {
                try SettingsSource(file: path, environment: [:]).read()
            }
            #expect(error?.problems.map(\.name) == ["ALTNET_WEAK_5G_DBM"])
            #expect(error?.problems.first?.origin == .file(path: path, line: 2))
        }
    }

    @Test func moreThanAPersonReadsIsCounted() async throws {
        try await inFolder { folder in
            let path = folder + "/conf"
            try write(String(repeating: "?\n", count: 60), to: path)
            let error = #expect(throws: InvalidSettings.self) {
                try SettingsSource(file: path, environment: [:]).read()
            }
            #expect(error?.lines.count == 51 && error?.lines.last == "... and 10 more")
        }
    }
}

/// Makes a file.
func write(_ text: String, to path: String) throws {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    try #require(file >= 0)
    defer { close(file) }
    try #require(write(file, text, text.utf8.count) == text.utf8.count)
}
