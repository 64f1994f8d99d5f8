import AgentModel
import Foundation
import KeyFile
import Testing

@Suite struct ProvisionTests {
    private static let pairing = "altnet://pair?v=1&id=lamp-01&key=7c1f94d2a86be03527d90c4e5ab3168f"
    private static let network = #"WIFI:T:WPA;S:Home\;Net;P:correct horse;H:true;;"#

    /// A device in a folder of its own.
    private struct Bench {
        let folder: String
        var state: String { folder + "/state" }
        var options: [String] { ["--state-dir", state, "--root-key", folder + "/keys/root-key"] }

        func provision(_ options: [String] = [], input: String = "", password: String? = nil) async -> CommandRun {
            await CommandRun.altnet(["provision"] + self.options + options, password: password, input: input)
        }

        func reset(_ options: [String], answers: [String] = []) async -> CommandRun {
            await CommandRun.altnet(["factory-reset"] + self.options + options, answers: answers)
        }

        func code() async -> String {
            await CommandRun.altnet(["pair", "--show", "--state-dir", state, "--output", "-"]).output
        }

        func stored() throws -> StoredState {
            try StorePlace(path: state + "/keyfile", rootKey: .file(path: folder + "/keys/root-key"))
                .open(maximumBackups: 3).state
        }

        var files: [String: Data] {
            let names = FileManager.default.enumerator(atPath: folder)?.allObjects.compactMap { $0 as? String } ?? []
            return names.reduce(into: [:]) { $0[$1] = FileManager.default.contents(atPath: folder + "/" + $1) }
        }
    }

    private func withBench(_ body: (Bench) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(Bench(folder: folder))
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    // covers: seed/device-name
    @Test func aNameIsGivenReplacedAndLostInAReset() async throws {
        try await withBench { bench in
            let first = await bench.provision(["--name", "Küche"])
            #expect(first.status == 0 && first.output.contains("Name      Küche, made"))
            let stored = try bench.stored()
            #expect(stored.name?.text == "Küche")
            #expect(await bench.provision(["--name", "Küche"]).output.contains("Name      Küche, unchanged"))
            #expect(await bench.provision(["--name", "Bad"]).output.contains("Name      Bad, replaced"))
            #expect(await bench.provision(["--name", "a\u{2028}b"]).status == 64)
            let renamed = try bench.stored()
            #expect(renamed.name?.text == "Bad")
            #expect(await bench.reset(["--yes"]).status == 0)
            #expect(await bench.provision().status == 0)
            let wiped = try? bench.stored()
            #expect(wiped?.name == nil)
        }
    }

    @Test func everythingFromOneFile() async throws {
        try await withBench { bench in
            let file = bench.folder + "/codes"
            try "# lamp\n\(Self.pairing)\r\n  \(Self.network)\n".write(toFile: file, atomically: true, encoding: .utf8)
            let run = await bench.provision(["--from", file])
            #expect(run.status == 0)
            #expect(
                run.output.hasPrefix(
                    """
                    Identity  lamp-01, made
                    Root key  \(bench.folder)/keys/root-key, made
                    Network   Home;Net, made
                    Check     none
                    """))
            #expect(run.errors.isEmpty)
            #expect(await bench.code().hasPrefix(Self.pairing + "&cert="))
            let home = try #require(try bench.stored().home)
            #expect(home.ssid.text == "Home;Net")
            #expect(home.isHidden)
            guard case .passphrase(let password, _) = home.credential else {
                Issue.record("no password")
                return
            }
            #expect(password == Secret(text: "correct horse"))
            for (path, expected) in [
                ("", 0o700), ("/device-id", 0o600), ("/local-key", 0o600), ("/keyfile", 0o600),
            ] { #expect(try mode(bench.state + path) == expected) }
            #expect(try mode(bench.folder + "/keys") == 0o700)
            #expect(try mode(bench.folder + "/keys/root-key") == 0o600)

            let before = bench.files
            let again = await bench.provision(["--from", file])
            #expect(again.output.split(separator: "\n").dropLast().allSatisfy { $0.hasSuffix(", unchanged") })
            #expect(bench.files == before)
        }
    }

    // MARK: The boot partition

    /// The first file that is there counts, a power cut finds it stored or not, and no byte of it is left.
    // covers: seed/user-phone, seed/boot-file
    @Test func aFileOnTheBootPartitionIsStoredAndWiped() async throws {
        try await withBench { bench in
            let boot = bench.folder + "/boot"
            let options = ["--boot", bench.folder + "/none/altnet.conf", "--boot", boot + "/altnet.conf", "--quiet"]
            #expect(await bench.provision(options).status == 0)
            try FileManager.default.createDirectory(atPath: boot, withIntermediateDirectories: true)
            #expect(await bench.provision(options).status == 0)
            // The clusters stay with the descriptor when the name is gone.
            let file = boot + "/altnet.conf"
            try "\u{feff}# my board\r\n\(Self.network)\r\n".write(toFile: file, atomically: false, encoding: .utf8)
            let length = try Data(contentsOf: URL(fileURLWithPath: file)).count
            let handle = try #require(FileHandle(forReadingAtPath: file))
            let dry = await bench.provision(options + ["--dry-run"])
            #expect(dry.status == 0 && FileManager.default.fileExists(atPath: file))
            let run = await bench.provision(options)
            #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
            #expect(try bench.stored().home?.ssid.text == "Home;Net")
            #expect(try FileManager.default.contentsOfDirectory(atPath: boot).isEmpty)
            #expect(try handle.readToEnd() == Data(repeating: 0, count: length))
            // As a power cut after the storing leaves it, and one in the middle of the wiping.
            for rest in [Self.network, "\0\0\0\0" + Self.network.dropFirst(4)] {
                let before = try bench.stored()
                try rest.write(toFile: file, atomically: false, encoding: .utf8)
                #expect(await bench.provision(options).status == 0)
                #expect(try FileManager.default.contentsOfDirectory(atPath: boot).isEmpty)
                #expect(try bench.stored() == before)
            }
        }
    }

    /// The network of before is the way back from a wrong password.
    @Test func aLaterFileLosesNoNetwork() async throws {
        try await withBench { bench in
            let file = bench.folder + "/altnet.conf"
            for (ssid, password) in [("One", "password one"), ("Two", "mistaken"), ("Two", "password two")] {
                try "WIFI:T:WPA;S:\(ssid);P:\(password);;".write(toFile: file, atomically: false, encoding: .utf8)
                #expect(await bench.provision(["--boot", file]).status == 0)
            }
            let state = try bench.stored()
            #expect(state.home?.ssid.text == "Two" && state.home?.password == Secret(text: "password two"))
            #expect(state.backups.map(\.ssid.text) == ["Two", "One"] && state.backupsRevision == 2)
            // The mistaken key goes from the list, and then there is no room: nothing is lost.
            for ssid in ["Three", "Four", "Five"] {
                try "WIFI:S:\(ssid);;".write(toFile: file, atomically: false, encoding: .utf8)
                let run = await bench.provision(["--boot", file])
                #expect(run.status == (ssid == "Five" ? 65 : 0), "\(run.errors)")
            }
            let last = try bench.stored()
            #expect(last.home?.ssid.text == "Four")
            #expect(last.backups.map(\.ssid.text) == ["Three", "Two", "One"])
            #expect(last.backups[1].password == Secret(text: "password two"))
            #expect(FileManager.default.fileExists(atPath: file))
        }
    }

    // covers: seed/boot-file
    @Test(arguments: [
        ("WIFI:T:WPA;S:Home;P:secret;;", "the network's code"), ("hello secret", "not a code"), ("", "no code"),
        ("\u{fffe}WIFI", "not a code"), (String(repeating: "# secret", count: 1000), "too long"),
    ])
    func aWrongFileStaysWithTheReasonBesideIt(content: String, reason: String) async throws {
        try await withBench { bench in
            let boot = bench.folder + "/boot"
            try FileManager.default.createDirectory(atPath: boot, withIntermediateDirectories: true)
            let file = boot + "/altnet.conf"
            try content.write(toFile: file, atomically: false, encoding: .utf8)
            let run = await bench.provision(["--boot", file, "--quiet"])
            #expect(run.status == 65)
            #expect(run.errors.split(separator: "\n").count == 1 && run.errors.contains(reason), "\(run.errors)")
            let beside = try String(contentsOfFile: boot + "/altnet-error.txt", encoding: .utf8)
            #expect(beside.contains(reason) && !beside.contains("secret") && !run.errors.contains("secret"))
            #expect(try String(contentsOfFile: file, encoding: .utf8) == content)
            // The device has what it needs to start.
            #expect(await bench.code().hasPrefix("altnet://pair?"))
            #expect(bench.files["keys/root-key"] != nil)
            try Self.network.write(toFile: file, atomically: false, encoding: .utf8)
            #expect(await bench.provision(["--boot", file, "--quiet"]).status == 0)
            #expect(try FileManager.default.contentsOfDirectory(atPath: boot).isEmpty)
        }
    }

    @Test func aFileInUTF16IsTold() async throws {
        try await withBench { bench in
            let file = bench.folder + "/altnet.conf"
            try Self.network.write(toFile: file, atomically: false, encoding: .utf16)
            let run = await bench.provision(["--boot", file])
            #expect(run.status == 65 && run.errors.contains("save it as UTF-8"))
        }
    }

    @Test func theWaysInAreEquivalent() async throws {
        try await withBench { bench in
            #expect(await bench.provision(["--from", "-"], input: Self.network + "\n" + Self.pairing).status == 0)
            // The same code is typed at each prompt; the second is refused.
            let asked = await bench.provision(["--ask"], password: Self.network)
            #expect(asked.status == 65)
            #expect(asked.errors.contains("only one network's code"))
            let named = await bench.provision(["--network", "Home;Net", "--hidden"], password: "correct horse")
            #expect(named.status == 0)
            #expect(named.output.contains("Home;Net, unchanged\n"))
        }
    }

    @Test func nothingIsChangedWithoutForce() async throws {
        try await withBench { bench in
            #expect(await bench.provision(["--from", "-"], input: Self.network + "\n" + Self.pairing).status == 0)
            let before = bench.files
            let other = await bench.provision(
                ["--from", "-"], input: Self.pairing.replacingOccurrences(of: "lamp-01", with: "lamp-02"))
            #expect(other.status == 1)
            #expect(other.errors.contains("lamp-01") && other.errors.contains("--force"))
            let network = await bench.provision(["--network", "Shop", "--open"])
            #expect(network.status == 1)
            #expect(await bench.provision(["--id", "lamp-02"]).status == 1)
            #expect(bench.files == before)
            let key = before["keys/root-key"]
            #expect(await bench.provision(["--network", "Shop", "--open", "--id", "lamp-02", "--force"]).status == 0)
            let home = try bench.stored().home
            #expect(home?.ssid.text == "Shop")
            #expect(await bench.code().contains("id=lamp-02&"))
            #expect(bench.files["keys/root-key"] == key)
        }
    }

    @Test func aDryRunDoesNothing() async throws {
        try await withBench { bench in
            let run = await bench.provision(["--dry-run", "--from", "-"], input: Self.network)
            #expect(run.status == 0)
            #expect(run.output.contains("random"))
            #expect(run.output.contains("Home;Net, would be made"))
            #expect(bench.files.isEmpty)
        }
    }

    @Test func aRunningAgentIsLeftAloneAndNeedsNothingTwice() async throws {
        try await withBench { bench in
            #expect(await bench.provision().status == 0)
            let lock = try StorePlace(
                path: bench.state + "/keyfile", rootKey: .file(path: bench.folder + "/keys/root-key")
            )
            .open(maximumBackups: 3)
            let before = bench.files
            #expect(await bench.provision(["--quiet"]).status == 0)
            let run = await bench.provision(["--network", "Shop", "--open"])
            #expect(run.status == 75)
            #expect(run.errors.contains("systemctl stop altnet") && run.errors.contains("nothing was changed"))
            let reset = await bench.reset(["--yes"])
            #expect(reset.status == 75)
            #expect(reset.errors.contains("systemctl stop altnet"))
            #expect(bench.files == before)
            #expect(lock.report.isEmpty)
        }
    }

    @Test func aLabelIsWrittenOnceAndProgramsLearnEverything() async throws {
        try await withBench { bench in
            let label = bench.folder + "/label"
            let run = await bench.provision(["--id", "lamp-01", "--output", label, "--json"])
            let document = try #require(JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
            #expect(document["deviceId"] as? String == "lamp-01")
            #expect(document["identity"] as? String == "made")
            #expect(document["network"] == nil && document["code"] == nil)
            #expect(try mode(label) == 0o600)
            #expect(await bench.provision(["--output", label]).status == 0)
            #expect(await bench.provision(["--id", "lamp-02", "--force", "--quiet"]).output.isEmpty)
            let other = await bench.provision(["--output", label])
            #expect(other.status == 1)
            let shown = await bench.provision(["--output", "-", "--quiet"])
            #expect(shown.output == (await bench.code()))
        }
    }

    @Test(arguments: [
        "", "lamp", "altnet:pair?v=1&id=x", "WIFI:T:WEP;S:Old;P:12345;;", "WIFI:S:Home;P:12345;;",
        "WIFI:T:WPA;S:Home;;",
        pairing + "\n" + pairing, pairing + "\nhello", String(repeating: "#", count: 5000),
    ])
    func aWrongCodeChangesNothingAndIsNotRepeated(input: String) async throws {
        try await withBench { bench in
            let run = await bench.provision(["--from", "-"], input: input)
            #expect(run.status == 65)
            #expect(!run.errors.contains("7c1f94d2") && !run.errors.contains("12345"))
            #expect(bench.files.isEmpty)
        }
    }

    /// Whoever records a proof by such a key can try keys at home.
    @Test func aKeyThatCanBeGuessedIsRefused() async throws {
        for key in ["0123456789abcdef", "0123456789abcdef0123456789abcdef", "1111111111111111", "7c1f94d2a86be035"] {
            try await withBench { bench in
                let code = "altnet://pair?v=1&id=lamp-01&key=\(key)"
                let run = await bench.provision(["--from", "-"], input: code)
                #expect(run.status == 65 && run.errors.contains("can be guessed") && !run.errors.contains(key))
                #expect(bench.files.isEmpty)
            }
        }
    }

    @Test(arguments: [
        ["--from", "x", "--ask"], ["--boot", "/x", "--ask"], ["--hidden"],
        ["--from", "-", "--network", "x", "--password-stdin"],
        ["--quiet", "--json"], ["--device", "lamp"],
    ])
    func contradictionsAreRefused(options: [String]) async {
        #expect(await CommandRun.altnet(["provision"] + options).status == 64)
    }

    /// A key file that cannot be opened does not get a new key.
    @Test func aStoreWithoutItsRootKeyIsRefused() async throws {
        try await withBench { bench in
            #expect(await bench.provision(["--network", "Shop", "--open"]).status == 0)
            try FileManager.default.removeItem(atPath: bench.folder + "/keys/root-key")
            let run = await bench.provision()
            #expect(run.status == 65)
            #expect(run.errors.contains("altnet factory-reset"))
            #expect(bench.files["keys/root-key"] == nil)
            #expect(await bench.reset(["--yes", "--keep-identity"]).status == 0)
            #expect(await bench.provision().status == 0)
        }
    }

    @Test func anUnknownOwnerIsRefused() async throws {
        try await withBench { bench in
            let run = await bench.provision(["--owner", "no such user"])
            #expect(run.status == 65)
            #expect(bench.files.isEmpty)
        }
    }

    /// The program itself: this process must not change its user while other tests run in it.
    private static let program: String? = {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let program = URL(fileURLWithPath: tests).deletingLastPathComponent().path + "/altnet"
        return geteuid() == 0 && FileManager.default.isExecutableFile(atPath: program) ? program : nil
    }()

    /// As a package's scripts call it.
    @Test(.enabled(if: program != nil, "only root can hand files over"))
    func rootHandsTheStateDirectoryOver() async throws {
        let program = try #require(Self.program)
        try await withBench { bench in
            chmod(bench.folder, 0o755)
            func run(_ command: String, _ options: [String]) throws -> ShellRun {
                try ShellRun.run(program, [command] + bench.options + ["--quiet"] + options)
            }
            func owner(_ path: String) -> UInt32? {
                var status = stat()
                return lstat(bench.folder + path, &status) == 0 ? status.st_uid : nil
            }
            let nobody = try #require(getpwnam("nobody")).pointee.pw_uid
            let made = try run("provision", ["--owner", "nobody", "--network", "Shop", "--open"])
            #expect(made.status == 0 && made.output.isEmpty)
            for path in ["/state", "/state/device-id", "/state/local-key", "/state/keyfile"] {
                #expect(owner(path) == nobody)
            }
            #expect(owner("/keys") == 0)
            #expect(owner("/keys/root-key") == 0)
            // Files that root made at the bench go to the owner, without --owner.
            chown(bench.state + "/device-id", 0, 0)
            #expect(try run("provision", ["--id", "lamp-02", "--force"]).status == 0)
            #expect(owner("/state/device-id") == nobody)
            #expect(try run("factory-reset", ["--yes"]).status == 0)
            #expect(bench.files.isEmpty)
            #expect(owner("/state") == nobody)
        }
    }

    /// The state directory is the agent's user's, and the agent was taken over.
    @Test(.enabled(if: program != nil, "only root can read what the user cannot"))
    func rootIsLedNowhereByWhatIsPlanted() async throws {
        let program = try #require(Self.program)
        try await withBench { bench in
            chmod(bench.folder, 0o755)
            let secret = bench.folder + "/secret"
            try "secret-of-root\n".write(toFile: secret, atomically: false, encoding: .utf8)
            chmod(secret, 0o600)
            let options = bench.options + ["--owner", "nobody"]
            #expect(try ShellRun.run(program, ["provision", "--quiet"] + options).status == 0)
            for name in ["device-id", "local-key", "identity.next", "factory-reset", "keyfile"] {
                let path = bench.state + "/" + name
                let isThere = rename(path, path + ".away") == 0
                #expect(symlink(secret, path) == 0)
                for command in [["provision"], ["provision", "--force", "--id", "lamp-02"]] {
                    let run = try ShellRun.run(program, command + options)
                    #expect(run.status != 0, "\(name)")
                    #expect(!run.output.contains("secret-of-root"))
                }
                var status = stat()
                #expect(lstat(secret, &status) == 0 && status.st_uid == 0 && status.st_mode & 0o777 == 0o600)
                #expect(try String(contentsOfFile: secret, encoding: .utf8) == "secret-of-root\n")
                #expect(unlink(path) == 0)
                if isThere { rename(path + ".away", path) }
            }
            // A second name of it, which a kernel without fs.protected_hardlinks lets the user make.
            #expect(link(secret, bench.state + "/root-key.next") == 0)
            #expect(try ShellRun.run(program, ["provision", "--quiet"] + options).status == 0)
            var status = stat()
            #expect(lstat(secret, &status) == 0 && status.st_uid == 0)
        }
    }

    // MARK: Reset

    @Test func aResetAsksFirst() async throws {
        try await withBench { bench in
            #expect(await bench.provision(["--network", "Shop", "--open"]).status == 0)
            let before = bench.files
            #expect(await bench.reset([], answers: ["no"]).status == 1)
            let mute = await bench.reset([])
            #expect(mute.status == 1)
            #expect(mute.errors.contains("--yes"))
            #expect(bench.files == before)
            let run = await bench.reset(["--keep-identity"], answers: ["yes"])
            #expect(run.status == 0)
            #expect(run.errors.contains(bench.state + "/keyfile"))
            #expect(bench.files["state/keyfile"] == nil && bench.files["keys/root-key"] == nil)
            #expect(bench.files["state/device-id"] == before["state/device-id"])
            let code = await bench.code()
            #expect(await bench.provision().status == 0)
            #expect(await bench.code() == code)
            #expect(await bench.reset(["--yes", "--json"]).status == 0)
            #expect(await bench.provision().status == 0)
            #expect(await bench.code() != code)
        }
    }

    /// With any options: a reset that was begun is finished, without asking again.
    @Test(arguments: ["factory-reset", "provision"])
    func whatWasCutShortIsFinished(command: String) async throws {
        try await withBench { bench in
            #expect(await bench.provision(["--id", "lamp-01", "--network", "Shop", "--open"]).status == 0)
            try "everything\n".write(toFile: bench.state + "/factory-reset", atomically: true, encoding: .utf8)
            let run = command == "provision" ? await bench.provision() : await bench.reset(["--keep-identity"])
            #expect(run.status == 0)
            #expect(bench.files["state/factory-reset"] == nil && bench.files["state/keyfile"] == nil)
            #expect((bench.files["state/device-id"] == nil) == (command == "factory-reset"))
            #expect(bench.files["state/device-id"] != Data("lamp-01\n".utf8))
        }
    }
}
