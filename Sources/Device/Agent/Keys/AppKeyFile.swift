import AgentModel
import AppProtocol
import AppServer
import KeyFile

/// Keys of the device's apps, in a JSON file of the state directory with mode 0600, replaced atomically.
struct AppKeyFile: Sendable {
    let directory: String

    static let name = "app-keys"
    static let version = 1
    /// Maximum size in bytes, enough for 48 keys with the longest names.
    static let longest = 32_768

    /// - Throws: `AppKeyFileError` if the file exists and cannot be read.
    func read() throws(AppKeyFileError) -> AppKeyList {
        let content: Secret?
        do {
            content = try Folder.openForReading(directory).readSmall(Self.name, maximum: Self.longest)
        } catch { throw .unreadable("\(error)") }
        guard let content else { return AppKeyList() }
        return try content.withBytes { bytes throws(AppKeyFileError) in try Self.list(in: bytes) }
    }

    /// - Throws: `storageFailed`. The old file stays.
    func write(_ list: AppKeyList) throws(ProtocolError) {
        do {
            let folder = try Folder.open(directory)
            let content = Secret(try Self.bytes(of: list))
            try content.withBytes { bytes throws(KeyFileError) in try folder.replace(Self.name, with: bytes) }
        } catch {
            throw ProtocolError(.storageFailed, "cannot store the app keys: \(error)")
        }
    }

    static func list(in bytes: some Collection<UInt8>) throws(AppKeyFileError) -> AppKeyList {
        let content: Content
        do {
            content = try OutsideJSON.decode(Content.self, from: bytes, nesting: 8, secretMembers: ["secret"])
        } catch { throw .unreadable("it is malformed") }
        guard content.version == version else { throw .unreadable("it has the unknown version \(content.version)") }
        var list = AppKeyList()
        for key in content.keys where key.name != .owner && ProtocolLimits.localKeyLength.contains(key.secret.count) {
            list.add(key.entry)
        }
        return list
    }

    static func bytes(of list: AppKeyList) throws -> [UInt8] {
        try OutsideJSON.encode(Content(version: version, keys: list.entries.map(Content.Key.init)))
    }

    private struct Content: Codable {
        let version: Int
        let keys: [Key]

        struct Key: Codable {
            let name: KeyName
            let role: Role
            let secret: Secret
            let created: Timestamp?
            let expires: Timestamp?
            let state: String?

            private enum CodingKeys: String, CodingKey {
                case name, role, secret, created, expires, state
            }

            init(_ entry: AppKeyList.Entry) {
                (name, role, secret) = (entry.name, entry.role, entry.secret)
                (created, expires) = (entry.created, entry.expires)
                state =
                    switch entry.state {
                    case .valid: nil
                    case .expired: "expired"
                    case .revoked: "revoked"
                    }
            }

            func encode(to encoder: any Encoder) throws {
                var members = encoder.container(keyedBy: CodingKeys.self)
                try members.encode(name, forKey: .name)
                try members.encode(role, forKey: .role)
                try members.encode(secret.withBytes { String(decoding: $0, as: UTF8.self) }, forKey: .secret)
                try members.encodeIfPresent(created, forKey: .created)
                try members.encodeIfPresent(expires, forKey: .expires)
                try members.encodeIfPresent(state, forKey: .state)
            }

            /// The key as an entry of the list. An unknown state counts as revoked.
            var entry: AppKeyList.Entry {
                let state: AppKey.State =
                    switch state {
                    case nil: .valid
                    case "expired": .expired
                    default: .revoked
                    }
                return AppKeyList.Entry(
                    name: name, role: role, secret: secret, created: created, expires: expires, state: state)
            }
        }
    }
}

struct AppKeyFileError: Error, Equatable, CustomStringConvertible {
    let description: String

    static func unreadable(_ why: String) -> AppKeyFileError {
        AppKeyFileError(description: "cannot read the app keys in \(AppKeyFile.name): \(why)")
    }
}
