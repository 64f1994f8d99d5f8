import AgentModel
import AppProtocol

/// A new password for the devices of a fleet, read from the owner's file. The file contains the body of
/// `password.stage` and two optional fields.
///
/// ```
/// {"changeId":"2026-12","ssid":"HomeNet","password":"correct horse 2","keepFor":604800,"confirmWithin":120}
/// ```
public struct FleetChange: Sendable, Equatable {
    public let staging: PasswordStaging
    /// Seconds until an unconfirmed switch to the new password is undone, in ``ProtocolLimits/confirmWithin``. Each
    /// device tries the new password at once. If nil, devices keep both passwords until their network accepts the new
    /// one.
    public let confirmWithin: Int?
    /// IDs of the devices to change; nil for all devices with a key.
    public let devices: Set<String>?

    public init(_ staging: PasswordStaging, confirmWithin: Int? = nil, devices: Set<String>? = nil) {
        (self.staging, self.confirmWithin, self.devices) = (staging, confirmWithin, devices)
    }

    /// - Throws: `ProtocolError`, which contains no part of the password.
    public init(file: [UInt8]) throws(ProtocolError) {
        self = try Line.decode(FleetChange.self, from: file, atMost: 16 << 20)
    }
}

extension FleetChange: Decodable {
    private enum CodingKeys: String, CodingKey { case confirmWithin, devices }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let confirmWithin = try container.decodeIfPresent(Int.self, forKey: .confirmWithin)
        let range = ProtocolLimits.confirmWithin
        if let confirmWithin, !range.contains(confirmWithin) {
            throw ProtocolError(
                .malformed, "confirmWithin must be \(range.lowerBound) to \(range.upperBound) seconds",
                details: ["field": "confirmWithin"])
        }
        self.init(
            try PasswordStaging(from: decoder), confirmWithin: confirmWithin,
            devices: try container.decodeIfPresent([String].self, forKey: .devices).map(Set.init))
    }
}

/// Reads the keys of devices, one per line: a pairing code, or a device ID, blanks and the key. Skips empty lines and
/// lines that begin with `#`.
public enum DeviceKeyLines {
    public struct Fault: Error, Equatable, CustomStringConvertible {
        public let line: Int
        public let problem: String

        public var description: String { "line \(line): \(problem)" }
    }

    /// - Throws: ``Fault``, which contains no part of a key.
    public static func read(_ bytes: [UInt8]) throws(Fault) -> [String: DeviceKey] {
        var keys: [String: DeviceKey] = [:]
        for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }
            guard let first = words.first, first.first != UInt8(ascii: "#") else { continue }
            let key = try key(words, line: index + 1)
            guard keys.updateValue(key, forKey: key.deviceId) == nil else {
                throw Fault(line: index + 1, problem: "give only one key for \(key.deviceId)")
            }
        }
        guard !keys.isEmpty else {
            throw Fault(line: 1, problem: "no key found, add a pairing code or a device's id and its key")
        }
        return keys
    }

    private static func key(_ words: [ArraySlice<UInt8>], line: Int) throws(Fault) -> DeviceKey {
        if words.count == 1, words[0].starts(with: PairingCode.scheme.utf8) {
            let code: PairingCode
            do throws(PairingCodeError) { code = try PairingCode(reading: words[0]) } catch {
                throw Fault(line: line, problem: "\(error)")
            }
            guard !code.isInvitation else { throw Fault(line: line, problem: "this is an invitation, give a key") }
            return code.device
        }
        guard words.count == 2 else {
            throw Fault(line: line, problem: "expected a pairing code, or a device's id and its key")
        }
        do throws(ProtocolError) {
            return try DeviceKey(
                deviceId: String(decoding: words[0], as: UTF8.self), localKey: Secret(Array(words[1])))
        } catch { throw Fault(line: line, problem: error.message) }
    }
}

/// Progress of a change on each device. It is stored in a file, so that an interrupted change can continue, and
/// contains no secret.
public struct RolloutRecord: Sendable, Equatable, Codable {
    public enum Phase: String, Sendable, Codable, CaseIterable {
        /// The device was not asked yet, or did not answer.
        case waiting
        /// The device keeps both passwords.
        case staged
        /// The device tries the new password.
        case trying
        case committed
        /// The device uses only the old password.
        case undone
        /// The device refuses the change.
        case refused
    }

    public struct Device: Sendable, Hashable, Codable {
        public var phase: Phase
        public var reason: String?

        public init(_ phase: Phase, reason: String? = nil) { (self.phase, self.reason) = (phase, reason) }
    }

    public private(set) var v = 1
    public let changeId: String
    public internal(set) var devices: [String: Device]

    public init(changeId: String, devices: [String: Device] = [:]) {
        (self.changeId, self.devices) = (changeId, devices)
    }

    public init(file: [UInt8]) throws(ProtocolError) {
        do { self = try OutsideJSON.decode(RolloutRecord.self, from: file, nesting: 4) } catch {
            throw ProtocolError(.malformed, "is not the progress of a change: give another file with --state")
        }
        guard v == 1 else {
            throw ProtocolError(
                .unsupportedVersion,
                "was written by another version: use that version, or give another file with --state")
        }
    }

    public var text: String {
        (try? OutsideJSON.encode(self)).map { String(decoding: $0, as: UTF8.self) + "\n" } ?? ""
    }

    public subscript(_ phase: Phase) -> Int { devices.values.count { $0.phase == phase } }
}
