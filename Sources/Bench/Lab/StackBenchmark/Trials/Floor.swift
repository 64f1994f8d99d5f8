import AgentModel

/// What no stack can beat that waits for three beacons before it calls a link lost, and has only one radio: these, a scan of
/// the one channel, joining with all that is known, and a lease that is confirmed. Measured with wpa_supplicant and dhcpcd,
/// each commanded at the moment when it is its turn.
public enum Floor {
    /// Three beacons at 102.4 ms.
    static let beacons = 0.3072
    public static let name = "floor"

    public static func run() async throws -> [Reading] {
        try await Lab.run("floor", accessPoints: 1) { lab in
            let backup = try await lab.accessPoint(
                "BackupNet", security: .wpa2("backup-password"), channel: 6, signal: -60)
            try await backup.powerOn()
            let station = lab.station
            try await station.startDHCPClient()
            try await station.startSupplicant(knowing: [
                KnownNetwork(backup.ssid, security: .wpa2("backup-password"))
            ])
            let pinger = try await lab.pinger(to: backup.gateway)
            try await pinger.reply(within: .seconds(60))
            try await station.ask("DISCONNECT")
            try await pinger.silence(of: .seconds(1), within: .seconds(10))
            try await station.ask("BSS_FLUSH 0")

            let start = ContinuousClock.now
            try await station.ask("SCAN TYPE=ONLY freq=2437")
            try await eventually(within: .seconds(10), every: .milliseconds(2), "the scan's result") {
                try await station.ask("SCAN_RESULTS").contains("\(backup.bssid)")
            }
            let seen = ContinuousClock.now
            try await station.ask("SELECT_NETWORK 0")
            try await eventually(within: .seconds(10), every: .milliseconds(2), "the join") {
                await station.joined() != nil
            }
            let joined = ContinuousClock.now
            let reply = try await pinger.reply(after: seen, within: .seconds(30))
            let parts: [(Figure, Double)] = [
                (.floor, beacons + reply.seconds(since: start)), (.floorScan, seen.seconds(since: start)),
                (.floorJoin, joined.seconds(since: seen)), (.floorLease, reply.seconds(since: joined)),
            ]
            return parts.map { Reading($0, .value($1)) }
        }
    }
}
