import FoundationEssentials
import Glibc

/// The real Home Assistant on a device of the lab, with the bridge and a broker (board/lab/home-assistant).
public struct HomeAssistant: Sendable {
    private let program: Program
    private let orders: String

    /// Whether Home Assistant is installed on this machine (`make home-assistant`).
    public static let isInstalled = access("\(Lab.checkout)/.board/home-assistant/opt/ha", X_OK) == 0
    private static let bridge = Device.program("altnet-mqtt", beside: Device.binary)

    /// Starts Home Assistant next to a running device. Returns when all entities exist.
    public init(in lab: Lab, beside device: Device) async throws {
        orders = "\(lab.directory)/home-assistant.orders"
        try Lab.write("", to: orders)
        program = try await lab.start(
            "\(Lab.checkout)/board/lab/home-assistant", [device.socket, Self.bridge, orders])
        // An emulated machine takes a minute to start Home Assistant.
        try await waitUntil("have all entities", within: .seconds(400)) { $0.contains("ready") }
    }

    private var lines: [String] {
        let text = (try? String(contentsOfFile: program.log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }

    public struct Entity: Sendable {
        /// Name of the entity in the bridge, such as `network`.
        let name: String
        public let id: String
        public var state: String
    }

    public var entities: [Entity] {
        var entities: [Entity] = []
        for line in lines {
            let words = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard words.count == 3 else { continue }
            entities.removeAll { $0.name == words[0] }
            entities.append(Entity(name: words[0], id: words[1], state: words[2]))
        }
        return entities
    }

    /// Selects a network as a user does in Home Assistant.
    public func choose(_ network: String) throws { try Lab.write(network + "\n", to: orders, O_APPEND) }

    public func shows(_ network: String, within limit: Duration) async throws {
        try await waitUntil("show \(network)", within: limit) { _ in
            entities.contains { $0.name == "network" && $0.state == network }
        }
    }

    private func waitUntil(_ what: String, within limit: Duration, _ isSo: ([String]) -> Bool) async throws {
        let end = ContinuousClock.now + limit
        while !isSo(lines) {
            guard program.isRunning, ContinuousClock.now < end else {
                throw LabError.unexpected("Home Assistant did not \(what): \(program.lastLines)")
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    public func end() async { await program.terminate() }
}
