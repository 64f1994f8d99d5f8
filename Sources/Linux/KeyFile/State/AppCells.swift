import AgentModel

/// A sign-in of a hotspot provider at a network with a captive portal.
public struct StoredSignIn: Sendable, Hashable {
    public let ssid: SSID
    public let security: Security
    public let provider: String

    public init(ssid: SSID, security: Security, provider: String) {
        (self.ssid, self.security, self.provider) = (ssid, security, provider)
    }
}

// Settings of apps, the device's name and results of hotspot providers. An older altnet keeps these cells unread.
extension StoredState {
    /// Servers to monitor, in the format of the settings; nil if no app has set them.
    public var targets: [String]? {
        get { texts(in: .targets) }
        set { kept[CellID(app: .targets)] = newValue.map(Self.cell) }
    }

    /// Names of disabled hotspot providers.
    public var providersOff: [String] {
        get { texts(in: .providersOff) ?? [] }
        set { kept[CellID(app: .providersOff)] = newValue.isEmpty ? nil : Self.cell(newValue) }
    }

    /// Name of the device; nil without one.
    public var name: DeviceName? {
        get { texts(in: .name)?.first.flatMap { try? DeviceName($0) } }
        set { kept[CellID(app: .name)] = newValue.map { Self.cell([$0.text]) } }
    }

    /// Sign-ins of providers, most recent network last.
    public var signIns: [StoredSignIn] {
        get { kept[CellID(app: .signIns)].flatMap(Self.signIns) ?? [] }
        set { kept[CellID(app: .signIns)] = newValue.isEmpty ? nil : Self.cell(newValue) }
    }

    private func texts(in cell: CellID.AppCell) -> [String]? { kept[CellID(app: cell)].flatMap(Self.texts) }

    /// Encodes texts. Truncates texts longer than 65535 bytes.
    private static func cell(_ texts: [String]) -> Secret {
        Secret(upTo: texts.reduce(1) { $0 + 2 + $1.utf8.count }) { cell in
            for text in texts {
                cell.append(bigEndian: UInt16(clamping: text.utf8.count))
                cell.append(text.utf8.prefix(Int(UInt16.max)))
            }
        }
    }

    private static func texts(_ cell: Secret) -> [String]? {
        cell.withBytes { bytes in
            var reader = ByteReader(bytes)
            var texts: [String] = []
            while !reader.isAtEnd {
                guard let count = reader.integer(UInt16.self), let content = reader.bytes(Int(count)),
                    let text = String(validating: content, as: UTF8.self)
                else { return nil }
                texts.append(text)
            }
            return texts
        }
    }

    private static func cell(_ signIns: [StoredSignIn]) -> Secret {
        let entries = signIns.filter { $0.provider.utf8.count <= Int(UInt8.max) }
        let size = entries.reduce(1) {
            $0 + 3 + $1.ssid.bytes.count + $1.security.rawValue.utf8.count + $1.provider.utf8.count
        }
        return Secret(upTo: size) { cell in
            for entry in entries {
                cell.append(counted: entry.ssid.bytes)
                cell.append(counted: entry.security.rawValue.utf8)
                cell.append(counted: entry.provider.utf8)
            }
        }
    }

    private static func signIns(_ cell: Secret) -> [StoredSignIn]? {
        cell.withBytes { bytes in
            var reader = ByteReader(bytes)
            var entries: [StoredSignIn] = []
            while !reader.isAtEnd {
                guard let name = reader.counted(), let ssid = try? SSID(bytes: name),
                    let word = reader.counted().flatMap({ String(validating: $0, as: UTF8.self) }),
                    let provider = reader.counted().flatMap({ String(validating: $0, as: UTF8.self) })
                else { return nil }
                // Skip security types that only a newer altnet knows.
                guard let security = Security(rawValue: word) else { continue }
                entries.append(StoredSignIn(ssid: ssid, security: security, provider: provider))
            }
            return entries
        }
    }
}

extension CellID {
    /// Slots of cell kind 140. The raw values are stored on disk: do not change them.
    fileprivate enum AppCell: UInt8 {
        case targets = 0
        case providersOff = 1
        case signIns = 2
        case name = 3
    }

    private static let appKind: UInt8 = 140

    fileprivate init(app cell: AppCell) { self.init(kind: Self.appKind, index: cell.rawValue) }
}
