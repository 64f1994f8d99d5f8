/// Contents of an RSN element (IEEE 802.11-2020, 9.4.2.24) or of its predecessor, the WPA element.
struct SecurityElement: Hashable {
    let groupCipher: Cipher
    let pairwiseCiphers: Set<Cipher>
    let keyManagement: Set<KeyManagement>
    /// True if management frame protection is supported or required (MFPC or MFPR bit).
    let protectsManagementFrames: Bool

    enum Cipher: Hashable {
        /// The cipher is CCMP or GCMP.
        case usable
        case tkip
        case wep
        case unknown
    }

    enum KeyManagement: Hashable {
        case psk
        case sae
        case owe
        case enterprise
        case unknown
    }

    /// - Parameter body: contents after number and length, and after a WPA element's organisation and type.
    /// - Returns: nil if the version is not 1 or a list is truncated.
    init?(_ body: ArraySlice<UInt8>) {
        var reader = ByteReader(body)
        guard reader.readLittleEndian() == 1 else { return nil }
        do throws(EndsEarly) {
            let group = try reader.readSuites(count: 1)
            let pairwise = try reader.readSuites()
            let management = try reader.readSuites()
            // The element may end after any field. Missing fields have these defaults.
            let groupCipher = group.first.map(Self.cipher) ?? .usable
            self.groupCipher = groupCipher
            pairwiseCiphers = Set(pairwise.map { Self.isGroupCipher($0) ? groupCipher : Self.cipher($0) })
                .orIfEmpty([groupCipher])
            keyManagement = Set(management.map(Self.keyManagement)).orIfEmpty([.enterprise])
            protectsManagementFrames = (reader.readLittleEndian() ?? 0) & Self.managementFrameProtection != 0
        } catch {
            return nil
        }
    }

    /// Mask of bits 6 and 7 of the RSN capabilities (IEEE 802.11-2020, 9.4.2.24.4).
    private static let managementFrameProtection: UInt16 = 0x00c0

    private static func isGroupCipher(_ suite: UInt32) -> Bool { suite == 0x000f_ac00 || suite == 0x0050_f200 }

    /// Returns the cipher (IEEE 802.11-2020, table 9-149). WPA uses equal numbers under another organisation.
    private static func cipher(_ suite: UInt32) -> Cipher {
        switch suite {
        case 0x000f_ac01, 0x000f_ac05, 0x0050_f201, 0x0050_f205: .wep
        case 0x000f_ac04, 0x000f_ac08...0x000f_ac0a, 0x0050_f204: .usable
        case 0x000f_ac02, 0x0050_f202: .tkip
        default: .unknown
        }
    }

    /// Returns the key management (IEEE 802.11-2020, table 9-151, and IEEE 802.11be for SAE with the group-dependent
    /// hash, 24 and 25).
    private static func keyManagement(_ suite: UInt32) -> KeyManagement {
        switch suite {
        case 0x000f_ac02, 0x000f_ac04, 0x000f_ac06, 0x000f_ac13, 0x000f_ac14, 0x0050_f202: .psk
        case 0x000f_ac08, 0x000f_ac09, 0x000f_ac18, 0x000f_ac19: .sae
        case 0x000f_ac12: .owe
        case 0x000f_ac01, 0x000f_ac03, 0x000f_ac05, 0x000f_ac0b...0x000f_ac11, 0x0050_f201: .enterprise
        default: .unknown
        }
    }
}

/// A list in the element is truncated or has a count of 0.
private struct EndsEarly: Error {}

extension ByteReader {
    fileprivate mutating func readLittleEndian() -> UInt16? { read(UInt16.self).map(UInt16.init(littleEndian:)) }

    /// Reads suite selectors, each an organisation and a type in one number. Reads the count from the element if
    /// `count` is nil. Returns an empty list at the element's end.
    fileprivate mutating func readSuites(count: UInt16? = nil) throws(EndsEarly) -> [UInt32] {
        guard !rest.isEmpty else { return [] }
        guard let count = count ?? readLittleEndian(), count > 0, let bytes = read(Int(count) * 4) else {
            throw EndsEarly()
        }
        var suites = ByteReader(bytes)
        return (0..<count).compactMap { _ in suites.read(UInt32.self).map(UInt32.init(bigEndian:)) }
    }
}

extension Set {
    fileprivate func orIfEmpty(_ other: Set) -> Set { isEmpty ? other : self }
}
