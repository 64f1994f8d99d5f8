import AgentModel

/// A part of a source, where it lies: sources hold passwords, of which no copies are made but those that end as a
/// `Secret`.
typealias SourceText = Slice<UnsafeRawBufferPointer>

extension SourceText {
    init(_ bytes: UnsafeRawBufferPointer) { self.init(base: bytes, bounds: bytes.indices) }

    /// Nil where it is not UTF-8.
    var text: String? { String(validating: self, as: UTF8.self) }

    /// For messages, where it is a name and no secret.
    var name: String { String(printable: prefix(64)) }

    func isEqual(to text: StaticString) -> Bool { elementsEqual(text.bytes) }

    func starts(with text: StaticString) -> Bool { starts(with: text.bytes) }

    /// Where this text is for the first time.
    func firstIndex(of text: StaticString) -> Int? { indices.first { self[$0...].starts(with: text) } }

    /// Without blanks and tabs at both ends.
    var trimmed: SourceText {
        var rest = drop(while: \.isBlank)
        while let last = rest.last, last.isBlank { rest = rest.dropLast() }
        return rest
    }

    var trimmedStart: SourceText { drop(while: \.isBlank) }

    /// The parts around the first of these bytes; nil where there is none.
    func split(at byte: UInt8) -> (before: SourceText, after: SourceText)? {
        firstIndex(of: byte).map { (self[..<$0], self[($0 + 1)...]) }
    }

    /// The lines with their numbers, without carriage returns at their ends.
    var lines: [(number: Int, text: SourceText)] {
        split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated().map { index, line in
            (index + 1, line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
        }
    }

    /// Between these bytes, trimmed, without empty ones.
    func list(_ isSeparator: (UInt8) -> Bool) -> [SourceText] {
        split(whereSeparator: isSeparator).map(\.trimmed).filter { !$0.isEmpty }
    }

    /// A number in decimal, with a sign or without.
    var number: Int? { count <= 20 ? text.flatMap { Int($0) } : nil }

    var isHexKey: Bool { count == 64 && allSatisfy(\.isHexDigit) }
}

extension Set<String> {
    /// The words of a text, with blanks between them.
    init(words text: String) { self.init(text.split(whereSeparator: \.isWhitespace).map(String.init)) }
}

extension StaticString {
    var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount) }
}

extension UInt8 {
    var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    var isHexDigit: Bool { Hex.value(of: self) != nil }

    var isLetterOrDigit: Bool { isDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
}

extension Secret {
    /// Takes over bytes that were copied out of a source, and overwrites them there.
    init(consuming bytes: inout [UInt8]) {
        self.init(bytes)
        bytes.withUnsafeMutableBytes { wipe($0) }
        bytes = []
    }

    /// The bytes that pairs of hexadecimal digits stand for; nil where they are none.
    init?(hexDigits digits: some Collection<UInt8>) {
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        var rest = digits[...]
        while let high = rest.popFirst(), let low = rest.popFirst() {
            guard let high = Hex.value(of: high), let low = Hex.value(of: low) else {
                bytes.withUnsafeMutableBytes { wipe($0) }
                return nil
            }
            bytes.append(high << 4 | low)
        }
        self.init(consuming: &bytes)
    }

    /// A passphrase, or the key made of one, as most programs tell the two apart: 64 hexadecimal digits are a key.
    var keyOrPassphrase: NetworkDraft.Password {
        withBytes { bytes in
            bytes.count == 64 && bytes.allSatisfy(\.isHexDigit) ? Secret(hexDigits: bytes).map { .derivedKey($0) } : nil
        } ?? .passphrase(self)
    }
}

/// A source that cannot be read as what it should be.
struct MalformedSource: Error {
    let line: Int
    let problem: String

    init(_ problem: String, line: Int) { (self.problem, self.line) = (problem, line) }
}

/// What a source says of one network, before it is judged.
struct NetworkDraft {
    enum Security {
        case open
        case owe
        /// With a password, by WPA2 or, where both ends can, by WPA3.
        case psk
        case sae
        case wep
        case enterprise
        case unknown(String)
    }

    enum Mode {
        case station
        case adHoc
        case accessPoint
        case mesh
    }

    enum Password {
        case missing
        case elsewhere
        case passphrase(Secret)
        case derivedKey(Secret, comment: Secret? = nil)
    }

    let place: Place
    /// The SSID's bytes.
    var name: [UInt8]?
    var security = Security.psk
    var mode = Mode.station
    var password = Password.missing
    /// Whether there is more of a credential than `password`.
    var hasCredential = false
    /// Whether the source joins the network only with protected management frames.
    var requiresManagementFrames = false
    /// What it says of a user.
    var user = EnterpriseDraft()
    var isHidden = false
    var isAutomatic = true
    var interface: String?
    var priority = 0
    var lastConnected: UInt64?
    var address: AddressDraft?
    var addressIsOfInterface = false

    init(_ place: Place) { self.place = place }
}

/// A static address as texts.
struct AddressDraft {
    /// The first one counts, with its prefix behind a slash.
    var addresses: [String] = []
    var gateway: String?
    var servers: [String] = []

    enum Outcome {
        case none
        case address(StaticAddress)
        case failure(Finding.Reason)
    }

    /// Addresses of IPv6 are left out, which the device makes itself.
    var outcome: Outcome {
        guard let text = addresses.first(where: { !$0.contains(":") }) else { return .none }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = IPAddress(parts[0]), let length = Int(parts[1]) else {
            return .failure(.unreadableAddress(text))
        }
        var router: IPAddress?
        if let gateway, !gateway.contains(":") {
            guard let address = IPAddress(gateway) else { return .failure(.unreadableAddress(gateway)) }
            router = address.isUnspecified ? nil : address
        }
        let servers = servers.compactMap { IPAddress($0) }.prefix(StaticAddress.maximumServers)
        do {
            return .address(
                try StaticAddress(
                    address: address, prefixLength: length, gateway: router, nameServers: Array(servers)))
        } catch { return .failure(.impossibleAddress(error)) }
    }

    /// The length of the prefix that a netmask stands for; nil where it stands for none.
    static func prefixLength(ofMask text: String) -> Int? {
        guard let mask = IPAddress(text), mask.isIPv4 else { return nil }
        let bits = mask.bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return (~bits & (~bits &+ 1)) == 0 ? bits.nonzeroBitCount : nil
    }
}

extension SourceContents {
    /// Judges a network: it is one that altnet can join, or a finding says why it is not.
    mutating func add(_ draft: NetworkDraft) {
        guard networks.count < ImportLimits.networks else {
            let finding = Finding(Place(draft.place.source), .tooMany("networks"))
            if findings.last != finding { findings.append(finding) }
            return
        }
        guard let name = draft.name else {
            var reason = Finding.Reason.credentialWithoutName
            if case .success(.none) = draft.credential { reason = .noName }
            return findings.append(Finding(draft.place, reason))
        }
        let ssid: SSID
        do { ssid = try SSID(bytes: name) } catch {
            return findings.append(Finding(draft.place, .impossibleName(error)))
        }
        if draft.mode == .station, draft.promisedSecurity == .wpa3 { onlyWPA3.insert(ssid) }
        switch draft.credential {
        case .failure(let refusal): findings.append(Finding(draft.place, ssid, refusal.reason))
        case .success(let credential):
            var network = FoundNetwork(
                ssid: ssid, credential: credential, security: draft.promisedSecurity, isHidden: draft.isHidden,
                interface: draft.interface, priority: draft.priority, lastConnected: draft.lastConnected,
                isAutomatic: draft.isAutomatic, place: draft.place)
            switch draft.address?.outcome ?? .none {
            case .none: break
            case .address(let address):
                (network.address, network.addressIsOfInterface) = (address, draft.addressIsOfInterface)
            case .failure(let reason): findings.append(Finding(draft.place, ssid, reason))
            }
            networks.append(network)
        }
    }
}

private struct Refusal: Error {
    let reason: Finding.Reason
}

extension NetworkDraft {
    fileprivate var credential: Result<FoundNetwork.Credential, Refusal> {
        func refused(_ reason: Finding.Reason) -> Result<FoundNetwork.Credential, Refusal> {
            .failure(Refusal(reason: reason))
        }
        switch mode {
        case .station: break
        case .adHoc: return refused(.adHoc)
        case .accessPoint: return refused(.accessPoint)
        case .mesh: return refused(.mesh)
        }
        switch (security, password) {
        case (.psk, _) where requiresManagementFrames, (.enterprise, _) where requiresManagementFrames:
            return refused(.requiresManagementFrames)
        case (.wep, _): return refused(.wep)
        case (.enterprise, _): return user.method == nil ? refused(.enterprise) : .success(.unresolved(user))
        case (.unknown(let name), _): return refused(.unknownSecurity(name))
        case (.open, .missing) where !hasCredential, (.owe, .missing) where !hasCredential: return .success(.none)
        case (.open, _), (.owe, _): return refused(.openWithCredential)
        case (.psk, .missing), (.sae, .missing): return refused(.noPassword)
        case (.psk, .elsewhere), (.sae, .elsewhere): return refused(.passwordElsewhere)
        case (.psk, .derivedKey(let key, let comment)): return .success(.derivedKey(key, comment: comment))
        case (.sae, .derivedKey): return refused(.derivedKeyOnly)
        case (.psk, .passphrase(let password)), (.sae, .passphrase(let password)):
            do throws(InvalidPassphrase) { try Passphrase.validate(password, for: promisedSecurity) } catch {
                return refused(.impossiblePassword(error))
            }
            return .success(.passphrase(password))
        }
    }

    fileprivate var promisedSecurity: AgentModel.Security? {
        switch security {
        case .sae: .wpa3
        case .owe: .owe
        case .enterprise: .enterprise
        default: nil
        }
    }
}
