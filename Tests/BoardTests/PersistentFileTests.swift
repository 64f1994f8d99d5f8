import Agent
import Foundation
import Testing

/// The list of altnet's files against the package: its purge, its units, and the programs that are root's.
@Suite(.timeLimit(.minutes(2))) struct PersistentFileTests {
    private let settings: AgentSettings

    init() throws { settings = try AgentSettings(environment: ["ALTNET_ROOT_KEY": AgentSettings.packagedRootKey]) }

    /// The paths on a packaged device, with a file's name for a `*`.
    private func paths(where isWanted: (PersistentFile) -> Bool) -> Set<String> {
        Set(
            PersistentFile.all.filter(isWanted).flatMap { $0.paths(settings) }.map {
                $0.hasSuffix("*") ? $0.dropLast() + "x" : $0
            })
    }

    /// dpkg removes them itself: debhelper makes a configuration file of each file in /etc.
    private static let configuration: Set = ["/etc/altnet/altnet.conf", "/etc/altnet/wpa_supplicant.conf"]

    /// Runs both scripts in a mount namespace in which every file of the list is there.
    @Test(.enabled(if: geteuid() == 0 && Board.hasProgram("unshare"), "needs root, to mount"))
    func aPurgeTakesWhatTheListSays() throws {
        let board = try Board()
        let made = paths { $0.location != .givenBack }.subtracting(Self.configuration)
        try made.sorted().joined(separator: "\n").appending("\n")
            .write(toFile: board.place + "/made", atomically: true, encoding: .utf8)
        // No user of this machine is looked for, and none is removed.
        try FileManager.default.createDirectory(atPath: board.place + "/programs", withIntermediateDirectories: true)
        for name in ["getent", "userdel", "groupdel", "systemctl", "deb-systemd-helper"] {
            try FileManager.default.createSymbolicLink(
                atPath: board.place + "/programs/" + name, withDestinationPath: "/usr/bin/false")
        }
        let script = """
            set -e
            mount --make-rprivate /
            for place in /etc /run /var/lib /boot; do mount -t tmpfs purge $place; done
            while read -r file; do mkdir -p "${file%/*}"; echo content >"$file"; done <\(board.place)/made
            export PATH=\(board.place)/programs:/usr/bin:/bin
            sh \(Board.folder)/../debian/altnet.postrm purge
            sh \(Board.folder)/../debian/altnet-mqtt.postrm purge
            echo LEFT
            find /etc /run /var/lib /boot -mindepth 1
            """
        let run = try Board.run("unshare", ["--mount", "sh", "-c", script])
        #expect(run.status == 0, "\(run.said)")
        let left = try #require(run.said.split(separator: "LEFT\n", omittingEmptySubsequences: false).last)
        let kept = paths { !$0.removedBy.contains(.purge) }
        // Folders of others, and that of mount(8).
        let folders: Set = ["/boot/firmware", "/etc/avahi", "/etc/avahi/services", "/run/mount", "/run/mount/utab"]
        #expect(Set(left.split(separator: "\n").map(String.init)).subtracting(folders) == kept)
    }

    /// What the units of the agent and of its resets may write holds the files that they make and take.
    @Test func theUnitsReachTheirFiles() throws {
        func folders(_ unit: String, _ key: String, below parent: String = "") throws -> [String] {
            try Board.text(of: "systemd/" + unit).split(separator: "\n").filter { $0.hasPrefix(key + "=") }
                .flatMap { $0.dropFirst(key.count + 1).split(separator: " ") }
                .map { parent + $0.trimmingPrefix("-") }
        }
        func isBelow(_ path: String, _ folders: [String]) -> Bool {
            folders.contains { path.hasPrefix($0 + "/") }
        }
        let ofAgent =
            try folders("altnet.service", "StateDirectory", below: "/var/lib/")
            + folders("altnet.service", "RuntimeDirectory", below: "/run/")
        for path in paths(where: { [.state, .runtime, .store, .socket].contains($0.location) }) {
            #expect(isBelow(path, ofAgent), "\(path)")
        }
        for (unit, remover) in [
            ("altnet-factory-reset.service", PersistentFile.RemovedBy.button), ("altnet-provision.service", .reset),
        ] {
            let writable = try folders(unit, "ReadWritePaths")
            for path in paths(where: { $0.removedBy.contains(remover) }) { #expect(isBelow(path, writable), "\(path)") }
        }
        let bridge = try folders("altnet-mqtt.service", "StateDirectory", below: "/var/lib/")
        #expect(paths { $0.location == .system && $0.name.hasPrefix("/var/lib/") }.allSatisfy { isBelow($0, bridge) })
    }

    /// Each folder and file that a program of root's names as altnet's is in the list.
    @Test(arguments: ["altnet-interface", "altnet-resolver", "altnet-radio"])
    func rootsProgramsKeepNothingElse(_ program: String) throws {
        let text = try Board.text(of: "systemd/" + program)
        let named = text.matches(of: /(?m)^\w+=\$root(\/(?:run|var|etc)\/\S*altnet\S*)/).map { String($0.1) }
        #expect(!named.isEmpty)
        let known = PersistentFile.all.flatMap { $0.paths(settings) }.map {
            $0.hasSuffix("*") ? String($0.dropLast()) : $0
        }
        for path in named {
            #expect(known.contains { $0.hasPrefix(path) || path.hasPrefix($0) }, "\(path)")
        }
    }
}
