import AgentModel

/// What a device and its owner's app share, and nobody else has: whoever holds it may do everything with the device.
public struct DeviceKey: Sendable, Equatable {
    /// 1 to 64 printable ASCII characters without spaces. Not a secret.
    public let deviceId: String
    /// 16 to 64 bytes.
    public let localKey: Secret

    /// - Throws: `malformed` where one of them is too short, too long, or has characters that it may not have.
    public init(deviceId: String, localKey: Secret) throws(ProtocolError) {
        guard ProtocolLimits.deviceIdLength.contains(deviceId.utf8.count),
            deviceId.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else {
            throw ProtocolError(.malformed, "a device id has 1 to 64 printable characters without spaces")
        }
        guard ProtocolLimits.localKeyLength.contains(localKey.count) else {
            throw ProtocolError(.malformed, "a local key has 16 to 64 bytes")
        }
        self.deviceId = deviceId
        self.localKey = localKey
    }
}
