import AgentModel
import AppProtocol
import KeyFile

/// A network from the app whose password, if it has one, the device can read.
struct DecryptedNetwork: Sendable {
    let ssid: SSID
    let password: Secret?
    let security: Security?
    let isHidden: Bool

    init(ssid: SSID, password: Secret? = nil, security: Security? = nil, isHidden: Bool = false) {
        self.ssid = ssid
        self.password = password
        self.security = security
        self.isHidden = isHidden
    }

    /// Opens the password if it is sealed, which takes a fraction of a millisecond and works once.
    init(_ network: NewNetwork, openedWith seals: SealOpener) throws(ProtocolError) {
        let password: Secret? =
            switch network.credential {
            case .none: nil
            case .password(let password): password
            case .sealed(let sealed): try seals.open(sealed, ssid: network.ssid)
            }
        self.init(ssid: network.ssid, password: password, security: network.security, isHidden: network.isHidden)
    }
}
