import Agent
import AppClient
import AppProtocol
import FoundationEssentials
import Glibc
import Linux

/// Facts for the report of a fault, without passwords and keys, and with substitutes for names of a home.
struct SupportReport: Encodable {
    let program: String
    let system: SystemFacts?
    var capabilities: Capabilities?
    var network: NetworkStatus?
    var diagnosis: Diagnosis?
    var backups: BackupList?
    var scan: ScanResults?
    var history: History?
    var targets: TargetList?
    var metrics: MetricsReport?
    /// Questions that the device did not answer, and why.
    var unanswered: [String: String] = [:]

    /// - Parameter isHere: whether the device is this machine.
    init(of device: DeviceClient, isHere: Bool, progress: (String) -> Void) async {
        program = Version.withCommit
        system = isHere ? SystemFacts() : nil
        var unanswered: [String: String] = [:]
        func ask<Answer>(_ name: String, _ question: () async throws(ClientError) -> Answer) async -> Answer? {
            progress(name)
            do { return try await question() } catch {
                unanswered[name] = "\(error)"
                return nil
            }
        }
        capabilities = await ask("capabilities") { () async throws(ClientError) in try await device.capabilities() }
        network = await ask("network") { () async throws(ClientError) in try await device.network() }
        diagnosis = await ask("diagnosis") { () async throws(ClientError) in try await device.diagnose() }
        backups = await ask("backups") { () async throws(ClientError) in try await device.backups() }
        scan = await ask("scan") { () async throws(ClientError) in try await device.scanResults() }
        history = await ask("history") { () async throws(ClientError) in try await device.history() }
        targets = await ask("targets") { () async throws(ClientError) in try await device.targets() }
        metrics = await ask("metrics") { () async throws(ClientError) in try await device.metrics() }
        self.unanswered = unanswered
    }

    /// The report with substitutes, ready to be printed.
    /// - Throws: an encoding error, which is a bug.
    func redacted() throws -> some Encodable {
        var substitutes = Substitutes()
        let tree = try JSONDecoder().decode(JSONTree.self, from: JSONEncoder().encode(self))
        substitutes.learn(from: tree)
        return substitutes.apply(to: tree)
    }
}

/// The machine's facts that matter for a fault of its radio.
struct SystemFacts: Encodable {
    private var board: String?
    private var system: String?
    private var kernel: String?
    private var radios: [Radio] = []

    private struct Radio: Encodable {
        let driver: String?
        let name: String
    }

    init() {
        // A text of the device tree ends with a NUL, which KernelFile leaves out.
        board = KernelFile.read("/proc/device-tree/model") ?? KernelFile.read("/sys/class/dmi/id/product_name")
        system = KernelFile.read("/etc/os-release")
        kernel = KernelFile.read("/proc/version")
        radios = KernelFile.paths(matching: "/sys/class/ieee80211/*").map { path in
            let driver = realpath(path + "/device/driver", nil)
            defer { free(driver) }
            return Radio(driver: driver.map { Self.name(String(cString: $0)) }, name: Self.name(path))
        }
    }

    private static func name(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? "" }
}

indirect enum JSONTree: Codable, Equatable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case text(String)
    case list([JSONTree])
    case object([String: JSONTree])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSONTree].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: JSONTree].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let values): try container.encode(values)
        case .object(let members): try container.encode(members)
        }
    }
}

/// Substitutes for names of networks, devices and servers and for addresses: the same name has the same substitute
/// everywhere in a report.
struct Substitutes {
    private var ofNames: [String: String] = [:]
    private var ofAddresses: [String: String] = [:]
    private var counts: [String: Int] = [:]

    /// Members of the protocol's objects whose texts name a home, and what stands for them.
    private static let members = [
        "ssid": "network", "ssidHex": "network", "hash": "hash", "deviceId": "device", "deviceName": "device",
        "host": "server", "url": "server", "identity": "identity", "anonymousIdentity": "identity",
    ]

    mutating func learn(from tree: JSONTree, as member: String? = nil) {
        switch tree {
        case .text(let text):
            for address in Self.addresses(in: text) where ofAddresses[address] == nil {
                ofAddresses[address] = number(address.contains(".") ? "ipv4" : "address")
            }
            guard let kind = member.flatMap({ Self.members[$0] }), !text.isEmpty, ofNames[text] == nil else { return }
            ofNames[text] = number(kind)
        case .list(let values): for value in values { learn(from: value, as: member) }
        case .object(let members):
            for (name, value) in members.sorted(by: { $0.key < $1.key }) { learn(from: value, as: name) }
        default: break
        }
    }

    private mutating func number(_ kind: String) -> String {
        counts[kind, default: 0] += 1
        return "\(kind)-\(counts[kind, default: 0])"
    }

    func apply(to tree: JSONTree) -> JSONTree {
        switch tree {
        case .text(let text): .text(apply(to: text))
        case .list(let values): .list(values.map { apply(to: $0) })
        case .object(let members): .object(members.mapValues { apply(to: $0) })
        default: tree
        }
    }

    private func apply(to text: String) -> String {
        if let substitute = ofNames[text] { return substitute }
        var result = text
        // A longer name may contain a shorter one.
        for (name, substitute) in (ofNames.merging(ofAddresses) { $1 }).sorted(by: { $0.key.count > $1.key.count }) {
            result = Self.replacing(name, by: substitute, in: result)
        }
        return result
    }

    /// Replaces whole words only, so that a network called `a` leaves the sentences legible.
    private static func replacing(_ name: String, by substitute: String, in text: String) -> String {
        var (result, rest) = ("", text[...])
        while let range = rest.firstRange(of: name) {
            let before = rest[..<range.lowerBound]
            let isWord =
                !(before.last ?? result.last).isWordPart && !rest[range.upperBound...].first.isWordPart
            result += before + (isWord ? substitute : name)
            rest = rest[range.upperBound...]
        }
        return result + rest
    }

    /// IPv4, IPv6 and hardware addresses in a text.
    private static func addresses(in text: String) -> [String] {
        text.split { !($0.isHexDigit || $0 == "." || $0 == ":") }.map(String.init).filter { word in
            let groups = word.split(separator: ":", omittingEmptySubsequences: false)
            // A time of day has three groups.
            return groups.count == 6 || groups.count == 8 || (groups.count > 2 && word.contains("::"))
                || word.split(separator: ".").count == 4 && word.allSatisfy { $0.isNumber || $0 == "." }
        }
    }
}

extension Character? {
    fileprivate var isWordPart: Bool { self.map { $0.isLetter || $0.isNumber } ?? false }
}
