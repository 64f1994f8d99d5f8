import AgentModel
import AppProtocol

public struct AppKey: Sendable, Equatable {
    public enum State: Sendable, Equatable {
        case valid, expired, revoked
    }

    public let name: KeyName
    public let secret: Secret
    public let role: Role
    public let state: State
    /// True if the key allows only `key.claim` and `capabilities.get`.
    public let isInvitation: Bool

    public init(name: KeyName, secret: Secret, role: Role, state: State = .valid, isInvitation: Bool = false) {
        (self.name, self.secret, self.role, self.state) = (name, secret, role, state)
        self.isInvitation = isInvitation
    }
}

/// The keys of the device's apps.
public protocol AppKeyDirectory: Sendable {
    func key(named name: KeyName) -> AppKey?
}

public struct OwnerKey: AppKeyDirectory {
    private let key: AppKey

    public init(_ localKey: Secret) { key = AppKey(name: .owner, secret: localKey, role: .manage) }

    public func key(named name: KeyName) -> AppKey? { name == .owner ? key : nil }
}

/// Certificate, keys and pages for apps in the network.
public struct AppCredentials: Sendable {
    public let deviceId: String
    public let certificate: DeviceCertificate
    public let keys: any AppKeyDirectory
    /// True if the owner's key also works as pre-shared key of TLS 1.2, for old apps.
    public let acceptsPreSharedKey: Bool
    /// Pages for browsers on the app port; nil for none.
    package var pages: (any WebPages)?

    public init(
        deviceId: String, certificate: DeviceCertificate, keys: any AppKeyDirectory, acceptsPreSharedKey: Bool = false
    ) {
        (self.deviceId, self.certificate, self.keys) = (deviceId, certificate, keys)
        self.acceptsPreSharedKey = acceptsPreSharedKey
    }
}
