import AgentModel
import AppProtocol

/// A key with which an app opens the device.
public struct AppKey: Sendable, Equatable {
    public enum State: Sendable, Equatable {
        case valid, expired, revoked
    }

    public let name: KeyName
    public let secret: Secret
    public let role: Role
    public let state: State
    /// Good for `key.claim` alone.
    public let isInvitation: Bool

    public init(name: KeyName, secret: Secret, role: Role, state: State = .valid, isInvitation: Bool = false) {
        (self.name, self.secret, self.role, self.state) = (name, secret, role, state)
        self.isInvitation = isInvitation
    }
}

/// Knows the keys of the device's apps.
public protocol AppKeyDirectory: Sendable {
    /// - Returns: nil where there is none of this name.
    func key(named name: KeyName) -> AppKey?
}

/// The owner's key and no other.
public struct OwnersKey: AppKeyDirectory {
    private let key: AppKey

    public init(_ localKey: Secret) { key = AppKey(name: .owner, secret: localKey, role: .manage) }

    public func key(named name: KeyName) -> AppKey? { name == .owner ? key : nil }
}

/// How a device opens its door to apps in the network.
public struct Door: Sendable {
    public let deviceId: String
    public let certificate: DeviceCertificate
    public let keys: any AppKeyDirectory
    /// Whether the owner's key opens by TLS 1.2 with a pre-shared key as well, as before there were certificates.
    public let takesPreSharedKey: Bool
    /// What browsers get that come through it; nil where they get nothing.
    package var pages: (any WebPages)?

    public init(
        deviceId: String, certificate: DeviceCertificate, keys: any AppKeyDirectory, takesPreSharedKey: Bool = false
    ) {
        (self.deviceId, self.certificate, self.keys) = (deviceId, certificate, keys)
        self.takesPreSharedKey = takesPreSharedKey
    }
}
