import Foundation
import Testing

/// Docs/seed.md has a row for each thing that altnet was set out to do, and what its rows name is there.
@Suite struct SeedDocumentTests {
    /// The first words of each row, in their order. A thing that altnet is to do comes here first.
    private static let rows = """
        `supportWifiBackupNetwork`
        `getCurrentNetworkInfo`
        `getBackupWifiNetworks`
        `generateBackupWifiModel`
        `canUpdateWifiBackupNetwork`, `canSwitchWifiNetwork`
        `updateBackupWifiNetworks`
        `switchBackupWifiNetwork(hash)`
        `switchBackupWifiNetwork(ssid, pwd)`
        Credentials live in flash
        Before new credentials
        A commanded switch scans first
        On failure the device rejoins
        When the network is lost
        When the signal is weak

        `joinOnce`
        Without it the network is kept
        Joining what is joined
        The current SSID
        Hidden networks
        A captive network is reported

        `setup`, `preparing`, `waiting`, `ready`, `failed`, `cancelled`
        Each change is an event
        What has failed or was cancelled starts anew
        A bad host
        Wi-Fi is there, and the broker answers
        `ConnectionMonitor`
        Targets are set and changed

        Providers run outside
        States from inactive
        Filter the scan list
        Evaluate
        Authenticate
        Present UI
        Maintain
        Log off
        A network that no provider claims
        The captive-portal API
        A session is kept
        Providers are switched off and on

        The flag set
        Read at any time
        Start and stop
        By host name
        The signal of a cellular uplink

        One protocol
        The firmware engineer
        The maker at home
        The person with a phone
        The app developer
        The person in the house
        The fleet operator

        Leave a weak network
        Return to the preferred one
        A fall-back that works at boot
        Leave strong signal
        Roll back
        One failed handshake
        One bad access point
        No ping-pong
        A commanded choice sticks
        Recovery re-arms
        No open rescue hotspot
        No password in plain text
        Why it switched

        `altnet import`
        `altnet enable --trial`
        A button
        A file on the boot partition
        Home is seen
        Wi-Fi moves beside a cable
        Under a tunnel
        SAE-only passwords
        WPA2-Enterprise
        A board without a clock
        NetworkManager, dhcpcd
        Without systemd-resolved
        A blocked radio
        """.split(separator: "\n").map(String.init)

    private static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

    @Test func eachRowNamesWhatIsThere() throws {
        let faults = try Self.faults(of: document)
        #expect(faults.isEmpty, "\(faults.joined(separator: "\n"))")
    }

    /// The check itself: a test that was renamed, a file that was moved, a row or a cell that is gone.
    @Test(arguments: [
        ("`ManagerTests.askedWhatItCan`", "`ManagerTests.askedWhatItCanDo`", "ManagerTests.askedWhatItCanDo"),
        ("`WearTests`", "`TearTests`", "TearTests"), ("`FailoverTests.signalFades`", "`FailoverTests.x`", "lab"),
        ("`Sources/Linux/KeyFile`", "`Sources/Linux/KeyStore`", "Sources/Linux/KeyStore"),
        ("`36-weak-signal`", "`37-weak-signal`", "37-weak-signal"), ("| `32-switch` |", "| |", "is empty"),
        ("| `32-switch` |", "| none: no |", "says too little"), ("\n| Log off |", "\n| Sign off |", "Log off"),
    ])
    func noticesWhatIsNotThere(named: String, instead: String, fault: String) throws {
        let document = try document
        let place = try #require(document.range(of: named))
        let faults = try Self.faults(of: document.replacingCharacters(in: place, with: instead))
        #expect(faults.count == 1 && faults[0].contains(fault), "\(faults)")
    }

    @Test func noticesARowThatIsGone() throws {
        let lines = try document.split(separator: "\n", omittingEmptySubsequences: false)
        let shorter = lines.filter { !$0.hasPrefix("| Maintain |") }.joined(separator: "\n")
        #expect(try !Self.faults(of: shorter).isEmpty)
    }

    private var document: String {
        get throws { try String(contentsOf: Self.root.appending(path: "Docs/seed.md"), encoding: .utf8) }
    }

    // MARK: The check

    private static func faults(of document: String) throws -> [String] {
        let (units, lab) = try Self.tests.get()
        let found = document.split(separator: "\n").filter { $0.hasPrefix("| ") && !$0.hasPrefix("| row |") }
            .map { row in
                row.dropFirst(2).dropLast().split(separator: "|", omittingEmptySubsequences: false).map {
                    $0.trimmingCharacters(in: .whitespaces)
                }
            }
        guard found.count == rows.count else { return ["there are \(found.count) rows instead of \(rows.count)"] }
        var faults: [String] = []
        for (row, name) in zip(found, rows) {
            guard row.count == 5, row[0].hasPrefix(name) else {
                faults.append("there is no row \"\(name)\" of five cells at its place: \(row[0])")
                continue
            }
            let kinds: [(String, (String) -> Bool)] = [
                ("code", exists), ("unit test", { isTest($0, of: units) }), ("lab", { isTest($0, of: lab) }),
                ("board", { exists("board/test/scenarios/" + $0) }),
            ]
            for (cell, (kind, isThere)) in zip(row.dropFirst(), kinds) {
                faults += Self.faults(of: cell, isThere).map { "\(name), \(kind): \($0)" }
            }
        }
        return faults
    }

    /// A cell names something, or says why it does not.
    private static func faults(of cell: String, _ isThere: (String) -> Bool) -> [String] {
        if let reason = cell.prefixMatch(of: #/(none|not in the lab|not on the board): /#) {
            return cell[reason.range.upperBound...].count < 12 ? ["it says too little"] : []
        }
        let names = cell.matches(of: /`([^`]+)`/).map { String($0.output.1) }
        return names.isEmpty ? ["it is empty"] : names.filter { !isThere($0) }.map { "there is no \($0)" }
    }

    private static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appending(path: path).path)
    }

    /// - Parameter name: of a suite, or of a test as `Suite.test`.
    private static func isTest(_ name: String, of suites: [String: Set<String>]) -> Bool {
        let parts = name.split(separator: ".").map(String.init)
        guard let tests = parts.first.flatMap({ suites[$0] }) else { return false }
        return parts.count == 1 || tests.contains(parts[1])
    }

    private static let tests = Result { try (suites { $0 != "LabTests" }, suites { $0 == "LabTests" }) }

    /// The tests of each suite in the folders of Tests that are chosen; suites of one name in several together.
    private static func suites(in isChosen: (String) -> Bool) throws -> [String: Set<String>] {
        let tests = root.appending(path: "Tests")
        var suites: [String: Set<String>] = [:]
        for target in try FileManager.default.contentsOfDirectory(atPath: tests.path)
        where target.hasSuffix("Tests") && isChosen(target) {
            let folder = tests.appending(path: target)
            let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
            for case let file as URL in files where file.pathExtension == "swift" {
                add(testsOf: try String(contentsOf: file, encoding: .utf8), to: &suites)
            }
        }
        return suites
    }

    /// Foundation's, for Swift's own expressions take seconds for all the tests.
    private static let words = try? NSRegularExpression(
        pattern: #"(?:struct|class|enum|actor|extension) (\w+Tests)\b|(@Test)\b|\bfunc (\w+)"#)

    private static func add(testsOf source: String, to suites: inout [String: Set<String>]) {
        let text = NSString(string: source)
        var suite: String?
        var isTest = false
        let matches = words?.matches(in: source, range: NSRange(location: 0, length: text.length)) ?? []
        for match in matches {
            let names = (1...3).map { match.range(at: $0) }.map {
                $0.location == NSNotFound ? nil : text.substring(with: $0)
            }
            if let name = names[0] { suite = name }
            if names[1] != nil { isTest = true }
            guard isTest, let test = names[2] else { continue }
            isTest = false
            if let suite { suites[suite, default: []].insert(test) }
        }
    }
}
