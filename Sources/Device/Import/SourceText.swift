import AgentModel

/// A part of a source, without a copy of its bytes. Copy passwords only into a `Secret`.
typealias SourceText = Slice<UnsafeRawBufferPointer>

extension SourceText {
    init(_ bytes: UnsafeRawBufferPointer) { self.init(base: bytes, bounds: bytes.indices) }

    /// Text; nil if it is not UTF-8.
    var text: String? { String(validating: self, as: UTF8.self) }

    /// First 64 bytes in printable form, for messages. Never use this for a secret.
    var name: String { String(printable: prefix(64)) }

    func isEqual(to text: StaticString) -> Bool { elementsEqual(text.bytes) }

    func starts(with text: StaticString) -> Bool { starts(with: text.bytes) }

    func firstIndex(of text: StaticString) -> Int? { indices.first { self[$0...].starts(with: text) } }

    var trimmed: SourceText {
        var rest = drop(while: \.isBlank)
        while let last = rest.last, last.isBlank { rest = rest.dropLast() }
        return rest
    }

    var trimmedStart: SourceText { drop(while: \.isBlank) }

    func split(at byte: UInt8) -> (before: SourceText, after: SourceText)? {
        firstIndex(of: byte).map { (self[..<$0], self[($0 + 1)...]) }
    }

    /// Lines with their numbers from 1, without trailing carriage returns.
    var lines: [(number: Int, text: SourceText)] {
        split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated().map { index, line in
            (index + 1, line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
        }
    }

    /// Returns the parts between separators, trimmed and without empty ones.
    func list(_ isSeparator: (UInt8) -> Bool) -> [SourceText] {
        split(whereSeparator: isSeparator).map(\.trimmed).filter { !$0.isEmpty }
    }

    /// Decimal number with an optional sign; nil for other text.
    var number: Int? { count <= 20 ? text.flatMap { Int($0) } : nil }

    /// Number as `strtol` reads it with base 0: `0x2` and `02` are 2. Nil for other text.
    var numberOfAnyBase: Int? { count <= 20 ? text.flatMap { $0.numberOfAnyBase } : nil }

    var isHexKey: Bool { count == 64 && allSatisfy(\.isHexDigit) }
}

extension StringProtocol {
    /// Number as `strtol` reads it with base 0. Nil for other text.
    var numberOfAnyBase: Int? {
        let digits = lowercased()
        if digits.hasPrefix("0x") { return Int(digits.dropFirst(2), radix: 16) }
        return digits.count > 1 && digits.hasPrefix("0") ? Int(digits, radix: 8) : Int(digits)
    }
}

extension Set<String> {
    /// - Parameter text: words separated by white space.
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
    /// Copies the bytes and wipes them in the array.
    init(consuming bytes: inout [UInt8]) {
        self.init(bytes)
        bytes.withUnsafeMutableBytes { wipe($0) }
        bytes = []
    }

    /// Derived key if the secret has 64 hexadecimal digits, else the passphrase. Most programs distinguish both like
    /// this.
    var keyOrPassphrase: NetworkDraft.Password {
        withBytes { bytes in
            bytes.count == 64 && bytes.allSatisfy(\.isHexDigit) ? Secret(hexDigits: bytes).map { .derivedKey($0) } : nil
        } ?? .passphrase(self)
    }
}

struct MalformedSource: Error {
    let line: Int
    let problem: String

    init(_ problem: String, line: Int) { (self.problem, self.line) = (problem, line) }
}

/// A network as written in the source, before the checks.
struct NetworkDraft {
    enum Security {
        case open
        case owe
        /// A password protects the network: WPA2, or WPA3 if both ends support it.
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
        /// The other program asks for the password.
        case asked
        case passphrase(Secret)
        case derivedKey(Secret, candidates: [Secret] = [])
        /// The value is the problem.
        case malformed(String)
        /// WPA2 and WPA3 have different passwords.
        case several
    }

    let place: ImportLocation
    var name: [UInt8]?
    var security = Security.psk
    var mode = Mode.station
    var password = Password.missing
    /// Whether the source has other parts of a credential than `password`.
    var hasCredential = false
    var requiresManagementFrames = false
    var user = EnterpriseDraft()
    var isHidden = false
    var isAutomatic = true
    var interface: String?
    var priority = 0
    var lastConnected: UInt64?
    var address: AddressDraft?
    /// Whether the source also configures addresses: no address means DHCP.
    var decidesAddress = false
    var addressIsOfInterface = false

    init(_ place: ImportLocation) { self.place = place }
}

struct AddressDraft {
    /// Addresses with `/` and prefix length. The first IPv4 address counts.
    var addresses: [String] = []
    var gateway: String?
    var servers: [String] = []

    enum Outcome {
        case none
        case address(StaticAddress)
        case failure(ImportFinding.Reason)
    }

    /// Static IPv4 address, or the reason why it is invalid. IPv6 addresses are ignored: the device configures them
    /// automatically.
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

    /// Returns the address with `/` and a prefix length. The default is that of the address's class.
    /// - Parameter mask: netmask or prefix length; nil for the default.
    static func withPrefix(_ address: String, mask: String?) -> String {
        guard !address.contains("/"), !address.contains(":") else { return address }
        if let mask { return address + "/" + ((Int(mask) ?? prefixLength(ofMask: mask)).map(String.init) ?? mask) }
        guard let first = IPAddress(address)?.bytes.first else { return address }
        return address + (first < 128 ? "/8" : first < 192 ? "/16" : "/24")
    }

    /// Returns the prefix length of a netmask; nil if it is invalid.
    static func prefixLength(ofMask text: String) -> Int? {
        guard let mask = IPAddress(text), mask.isIPv4 else { return nil }
        let bits = mask.bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return (~bits & (~bits &+ 1)) == 0 ? bits.nonzeroBitCount : nil
    }
}

extension SourceContents {
    /// Checks a network. Adds either the network or a finding with the reason to skip it.
    mutating func add(_ draft: NetworkDraft) {
        guard networks.count < ImportLimits.networks else {
            let finding = ImportFinding(ImportLocation(draft.place.source), .tooMany("networks"))
            if findings.last != finding { findings.append(finding) }
            return
        }
        guard let name = draft.name else {
            var reason = ImportFinding.Reason.credentialWithoutName
            if case .success(.none) = draft.credential { reason = .noName }
            return findings.append(ImportFinding(draft.place, reason))
        }
        let ssid: SSID
        do { ssid = try SSID(bytes: name) } catch {
            return findings.append(ImportFinding(draft.place, .impossibleName(error)))
        }
        if draft.mode == .station, draft.promisedSecurity == .wpa3 { onlyWPA3.insert(ssid) }
        switch draft.credential {
        case .failure(let refusal): findings.append(ImportFinding(draft.place, ssid, refusal.reason))
        case .success(let credential):
            var network = FoundNetwork(
                ssid: ssid, credential: credential, security: draft.promisedSecurity, isHidden: draft.isHidden,
                interface: draft.interface, priority: draft.priority, lastConnected: draft.lastConnected,
                isAutomatic: draft.isAutomatic, place: draft.place)
            network.decidesAddress = draft.decidesAddress
            switch draft.address?.outcome ?? .none {
            case .none: break
            case .address(let address):
                (network.address, network.addressIsOfInterface) = (address, draft.addressIsOfInterface)
            case .failure(let reason): findings.append(ImportFinding(draft.place, ssid, reason))
            }
            networks.append(network)
        }
    }
}

private struct Refusal: Error {
    let reason: ImportFinding.Reason
}

extension NetworkDraft {
    fileprivate var credential: Result<FoundNetwork.Credential, Refusal> {
        func refused(_ reason: ImportFinding.Reason) -> Result<FoundNetwork.Credential, Refusal> {
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
        case (.psk, .asked), (.sae, .asked): return refused(.passwordAsked)
        case (.psk, .malformed(let problem)), (.sae, .malformed(let problem)):
            return refused(.malformedCredential(problem))
        case (.psk, .several), (.sae, .several): return refused(.severalPasswords)
        case (.psk, .derivedKey(let key, let candidates)): return .success(.derivedKey(key, candidates: candidates))
        case (.sae, .derivedKey): return refused(.derivedKeyOnly)
        case (.psk, .passphrase(let password)) where password.count == Passphrase.keyDigits:
            // Formats that allow a key here give `.derivedKey`.
            return refused(.impossiblePassword(.length(password.count)))
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

/// Reads a source of limited size. An error becomes a finding; networks before the error are kept.
func reading(
    _ bytes: UnsafeRawBufferPointer, from source: String,
    _ read: (SourceText, inout SourceContents) throws(MalformedSource) -> Void
) -> SourceContents {
    guard bytes.count <= ImportLimits.sourceLength else {
        return SourceContents(ImportFinding(ImportLocation(source), .tooLong))
    }
    var text = SourceText(bytes)
    if text.starts(with: [0, 0]) {
        let problem = "it begins with zero bytes, as after a power cut: restore it"
        return SourceContents(ImportFinding(ImportLocation(source), .malformed(problem)))
    }
    if text.starts(with: [0xff, 0xfe]) || text.starts(with: [0xfe, 0xff]) || text.prefix(2).contains(0) {
        return SourceContents(ImportFinding(ImportLocation(source), .malformed("it is UTF-16: save it as UTF-8")))
    }
    if text.starts(with: [0xef, 0xbb, 0xbf]) { text = text.dropFirst(3) }
    var contents = SourceContents()
    do throws(MalformedSource) { try read(text, &contents) } catch {
        // The line that stopped the reader matters more than the first unknown line.
        contents.findings.removeAll { $0.reason == .notUnderstood }
        contents.findings.append(ImportFinding(ImportLocation(source, line: error.line), .malformed(error.problem)))
    }
    return contents
}
