import AgentModel
import CNetlink
import Netlink

struct KeyOrder: Equatable {
    let index: UInt8
    /// Key to install; empty to delete it.
    let key: [UInt8]
    /// Cipher suite, as OUI and number (IEEE 802.11-2020, table 9-149): 00-0f-ac:4 is CCMP.
    let cipher: UInt32
    /// Station or access point of a pairwise key; nil for a group key.
    let address: BSSID?
    /// Number of the last frame received with this key; nil if unknown.
    let sequence: [UInt8]?

    init(_ argument: ArraySlice<UInt8>) throws(DongleError) {
        guard argument.count >= 162, let index = argument.little(0, as: UInt32.self), index < 8,
            let length = argument.little(4, as: UInt32.self), length <= 32, let key = argument.bytes(8, Int(length)),
            let algorithm = argument.little(112, as: UInt32.self),
            let isInitialised = argument.little(132, as: UInt32.self),
            let high = argument.little(140, as: UInt32.self), let low = argument.little(144, as: UInt16.self),
            let address = argument.bytes(156, 6)
        else { throw .malformed("key of \(argument.count) bytes") }
        self.index = UInt8(index)
        self.key = Array(key)
        self.address = address.contains { $0 != 0 } ? BSSID(bytes: address) : nil
        switch algorithm {
        case 1: cipher = 0x000f_ac01
        case 2: cipher = 0x000f_ac02
        case 3: cipher = 0x000f_ac05
        // Group keys 4 and 5 protect management frames (BIP).
        case 4: cipher = index >= 4 ? 0x000f_ac06 : 0x000f_ac04
        case 0 where length == 0: cipher = 0
        default: throw .malformed("key algorithm \(algorithm)")
        }
        var sequence: [UInt8] = []
        sequence.append(little: low)
        sequence.append(little: high)
        self.sequence = isInitialised == 0 ? nil : sequence
    }
}

extension KeyOrder {
    func request(family: UInt16, interface: UInt32) -> NetlinkRequest {
        let command = key.isEmpty ? NL80211_CMD_DEL_KEY : NL80211_CMD_NEW_KEY
        var request = NetlinkRequest(family: family, command: UInt8(command.rawValue))
        request.attributes.put(NL80211_ATTR_IFINDEX, interface)
        request.attributes.put(NL80211_ATTR_KEY_IDX, index)
        if let address { request.attributes.put(NL80211_ATTR_MAC, bytes: address.bytes) }
        guard !key.isEmpty else { return request }
        request.attributes.put(NL80211_ATTR_KEY_DATA, bytes: key)
        request.attributes.put(NL80211_ATTR_KEY_CIPHER, cipher)
        if let sequence { request.attributes.put(NL80211_ATTR_KEY_SEQ, bytes: sequence) }
        return request
    }
}
