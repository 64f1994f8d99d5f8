import Glibc

/// Scenarios that the program contains, from `Sources/Bench/Simulation/Scenarios`.
public enum ScenarioLibrary {
    static let fileEnding = ".scenario"

    public static let names = files.keys.sorted()

    /// Returns a scenario of the library, a random scenario (`random-17`), or the scenario in a file. A name with `/`
    /// or the ending `.scenario` is a path.
    public static func scenario(named name: String) throws(ScenarioError) -> Scenario {
        if let random = RandomScenario.named(name) { return try random.scenario() }
        if name.contains("/") || name.hasSuffix(fileEnding) { return try Scenario(contentsOf: name) }
        guard let bytes = files[name] else {
            throw ScenarioError(
                file: name, line: nil, expected: "a scenario of the library, or a path to a \(fileEnding) file",
                found: "neither")
        }
        return try Scenario(parsing: bytes, name: name, file: name + fileEnding)
    }

    public static func all() throws(ScenarioError) -> [Scenario] {
        var scenarios: [Scenario] = []
        for name in names { scenarios.append(try scenario(named: name)) }
        return scenarios
    }
}

extension ScenarioLibrary {
    static let files: [String: [UInt8]] = [
        "block-of-flats": PackageResources.block_of_flats_scenario,
        "boat": PackageResources.boat_scenario,
        "captive-hotel": PackageResources.captive_hotel_scenario,
        "cellular-fallback": PackageResources.cellular_fallback_scenario,
        "commanded-trial": PackageResources.commanded_trial_scenario,
        "cuts-10s": PackageResources.cuts_10s_scenario,
        "cuts-20s": PackageResources.cuts_20s_scenario,
        "cuts-300s": PackageResources.cuts_300s_scenario,
        "cuts-30s": PackageResources.cuts_30s_scenario,
        "cuts-40s": PackageResources.cuts_40s_scenario,
        "cuts-55s": PackageResources.cuts_55s_scenario,
        "cuts-5s": PackageResources.cuts_5s_scenario,
        "cuts-70s": PackageResources.cuts_70s_scenario,
        "dead-internet": PackageResources.dead_internet_scenario,
        "deauth-storm": PackageResources.deauth_storm_scenario,
        "dhcp-dead": PackageResources.dhcp_dead_scenario,
        "dual-band": PackageResources.dual_band_scenario,
        "dying-access-point": PackageResources.dying_access_point_scenario,
        "elevator": PackageResources.elevator_scenario,
        "evening-congestion": PackageResources.evening_congestion_scenario,
        "everything-blocked": PackageResources.everything_blocked_scenario,
        "evil-twin": PackageResources.evil_twin_scenario,
        "fleet": PackageResources.fleet_scenario,
        "full-at-peak": PackageResources.full_at_peak_scenario,
        "garage": PackageResources.garage_scenario,
        "hidden-backup": PackageResources.hidden_backup_scenario,
        "house-with-repeater": PackageResources.house_with_repeater_scenario,
        "internet-flapping": PackageResources.internet_flapping_scenario,
        "jammed-channel": PackageResources.jammed_channel_scenario,
        "lab-appears": PackageResources.lab_appears_scenario,
        "lab-fade": PackageResources.lab_fade_scenario,
        "lab-power-cut": PackageResources.lab_power_cut_scenario,
        "lab-restart": PackageResources.lab_restart_scenario,
        "lab-wrong-password": PackageResources.lab_wrong_password_scenario,
        "mesh-of-three": PackageResources.mesh_of_three_scenario,
        "mesh-steering": PackageResources.mesh_steering_scenario,
        "microwave": PackageResources.microwave_scenario,
        "near-equal": PackageResources.near_equal_scenario,
        "parking-lot": PackageResources.parking_lot_scenario,
        "password-never-told": PackageResources.password_never_told_scenario,
        "password-rotation": PackageResources.password_rotation_scenario,
        "password-told": PackageResources.password_told_scenario,
        "preferred-flaps": PackageResources.preferred_flaps_scenario,
        "provider-outages": PackageResources.provider_outages_scenario,
        "quiet": PackageResources.quiet_scenario,
        "restarts": PackageResources.restarts_scenario,
        "robot-four-cells": PackageResources.robot_four_cells_scenario,
        "robot-satellite": PackageResources.robot_satellite_scenario,
        "robot-two-networks": PackageResources.robot_two_networks_scenario,
        "rogues-backup": PackageResources.rogues_backup_scenario,
        "rogues-changing": PackageResources.rogues_changing_scenario,
        "rogues-static": PackageResources.rogues_static_scenario,
        "router-swap": PackageResources.router_swap_scenario,
        "router-update": PackageResources.router_update_scenario,
        "slow-fading": PackageResources.slow_fading_scenario,
        "street-power-cut": PackageResources.street_power_cut_scenario,
        "street-routers": PackageResources.street_routers_scenario,
        "suspended-camera": PackageResources.suspended_camera_scenario,
        "thrown-out": PackageResources.thrown_out_scenario,
        "walk-one-network": PackageResources.walk_one_network_scenario,
        "walk-two-networks": PackageResources.walk_two_networks_scenario,
        "wired-uplink": PackageResources.wired_uplink_scenario,
    ]
}

extension Scenario {
    /// Parses a scenario file (`Docs/contributor/simulator.md`).
    /// - Parameter file: file name for errors.
    public init(parsing bytes: some Collection<UInt8>, name: String, file: String) throws(ScenarioError) {
        self = try ScenarioParser.parse(bytes, name: name, file: file)
    }

    /// Reads a scenario file. Its name is the file name without extension.
    public init(contentsOf path: String) throws(ScenarioError) {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let ending = ScenarioLibrary.fileEnding
        try self.init(
            parsing: try Self.bytes(of: path),
            name: name.hasSuffix(ending) ? String(name.dropLast(ending.count)) : name, file: path)
    }

    /// Returns the file's bytes, at most one byte more than the size limit.
    private static func bytes(of path: String) throws(ScenarioError) -> [UInt8] {
        let limit = ScenarioParser.sizeLimit + 1
        guard let file = fopen(path, "rb") else { throw unreadable(path) }
        defer { fclose(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            count = fread(buffer.baseAddress, 1, limit, file)
        }
        guard ferror(file) == 0 else { throw unreadable(path) }
        return bytes
    }

    private static func unreadable(_ path: String) -> ScenarioError {
        let reason = String(cString: strerror(errno))
        return ScenarioError(file: path, line: nil, expected: "a file that can be read", found: "an error: \(reason)")
    }
}

/// Suggests known names that are similar to an unknown name.
public struct NearbyNames: Sendable {
    private let names: [String]

    public init(_ names: [String]) { self.names = names }

    /// Returns at most three names that contain the text, or similar names if none contains it.
    public func nearest(to text: String) -> [String] {
        let text = String(text.lowercased().prefix(100))
        let containing = text.count > 1 ? names.filter { $0.contains(text) } : []
        let limit = max(2, text.count / 3)
        let similar = names.map { (name: $0, distance: Self.distance(text, $0)) }.filter { $0.distance <= limit }
            .sorted { $0.distance < $1.distance }.map(\.name)
        return Array((containing.isEmpty ? similar : containing).prefix(3))
    }

    private static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right.utf8)
        var row = Array(0...right.count)
        for (index, byte) in left.utf8.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let replaced = diagonal + (byte == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
