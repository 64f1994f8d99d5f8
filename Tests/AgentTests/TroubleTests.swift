import AgentModel
import Glibc
import KeyFile
import Testing

@testable import Agent

/// Missing parts that the agent waits for or does without, and its words about them.
@Suite struct TroubleTests {
    @Test func whyWpaSupplicantDoesNotAnswerIsFoundOut() async throws {
        try await inFolder { folder in
            typealias Reason = Trouble.SupplicantTrouble
            let socket = folder + "/wlan0"
            #expect(Reason(socket: socket, programs: [folder + "/none"]) == .notInstalled)
            #expect(Reason(socket: socket, programs: ["/bin/sh"]) == .notRunning)
            // A file that a killed process left behind is no better than one that hangs.
            try write("", to: socket)
            #expect(Reason(socket: socket, programs: []) == .silent)
        }
    }

    @Test func everyTroubleNamesARemedy() {
        let socket = "/run/wpa_supplicant/wlan0"
        func advice(_ reason: Trouble.SupplicantTrouble) -> String {
            Trouble.noSupplicant(reason, interface: "wlan0", socket: socket).advice
        }
        #expect(advice(.notInstalled).contains("package wpasupplicant"))
        #expect(advice(.notRunning).contains("start altnet-wpa_supplicant@wlan0.service"))
        #expect(advice(.notPermitted).contains("GROUP=altnet-agent)"))
        #expect(advice(.silent).contains("restart altnet-wpa_supplicant@wlan0.service"))
        #expect(Trouble.noWiFi.advice.contains("module cfg80211"))
        #expect(Trouble.noInterface("wlan0", others: []).advice.contains("plug it in"))
        #expect(Trouble.noInterface("wlan0", others: ["wlan1", "wlx2"]).advice.contains("to wlan1 or wlx2"))
    }

    @Test func capabilitiesAreRead() {
        #expect(Privilege.capabilities(in: "Name:\taltnet\nCapEff:\t0000000000003000\nX:\t1\n") == 0x3000)
        #expect(Privilege.capabilities(in: "CapEff:\t\n") == nil)
        #expect(Privilege.capabilities(in: "CapPrm:\t1\nCapEff:\tz\n") == nil)
        #expect(Privilege.capabilities(in: "") == nil)
    }

    @Test func aPlaceThatTakesNothingIsNoticed() async throws {
        #expect(StoragePlace(of: "/dev/mtd3").problem == nil)
        #expect(StoragePlace(of: "/proc/sys/x").problem != nil, "nothing can be made there")
        try await inFolder { folder in
            #expect(StoragePlace(of: folder + "/a/b/keyfile").folder == folder)
            #expect(StoragePlace(of: folder + "/keyfile").problem == nil)
        }
    }

    /// Needs a file system of its own to fill and to write-protect.
    @Test(.enabled(if: geteuid() == 0 && isMountable, "may not mount"))
    func fullAndReadOnlyFileSystemsAreNamed() async throws {
        try await inFolder { folder in
            try #require(mount("none", folder, "tmpfs", 0, "size=64k") == 0)
            defer { umount2(folder, Int32(MNT_DETACH)) }
            let place = StoragePlace(of: folder + "/keyfile")
            #expect(place.problem == nil)
            let file = open(folder + "/ballast", O_WRONLY | O_CREAT, 0o600)
            let block = [UInt8](repeating: 0xaa, count: 4096)
            while write(file, block, block.count) > 0 {}
            close(file)
            #expect(place.problem?.contains("is full") == true)
            unlink(folder + "/ballast")
            try #require(mount("none", folder, nil, UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
            #expect(place.problem?.contains("is read-only") == true)
            // The stored state can be read all the same.
            let settings = try AgentSettings(environment: ["ALTNET_STATE_DIR": folder])
            let store = try Store(settings)
            let home = try StoredNetwork(DecryptedNetwork(ssid: SSID("Home"), password: nil))
            await #expect(throws: (any Error).self) { try await store.update { state in state.home = home } }
        }
    }

    private static let isMountable: Bool = {
        guard mkdir("/tmp/altnet-mount-\(getpid())", 0o700) == 0 else { return false }
        let path = "/tmp/altnet-mount-\(getpid())"
        defer { rmdir(path) }
        guard mount("none", path, "tmpfs", 0, "size=4k") == 0 else { return false }
        umount2(path, 0)
        return true
    }()
}
