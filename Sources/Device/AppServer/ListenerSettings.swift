import AppProtocol

/// Where programs of this machine reach the server.
public struct UnixListenerSettings: Sendable, Hashable {
    /// The folder must exist.
    public var path: String
    /// The socket file's permissions. With `readers` everybody may connect besides, because a file has one group only, and
    /// who is in neither is told so.
    public var mode: UInt32
    /// The group that the socket file belongs to; nil for the process's own. Its members may do everything.
    public var group: UInt32?
    /// The group whose members may ask and listen, but change nothing; nil if there is none.
    public var readers: UInt32?

    /// The permissions that the file gets in the end.
    var effectiveMode: UInt32 { readers == nil ? mode : mode | 0o006 }

    public init(path: String, mode: UInt32 = 0o660, group: UInt32? = nil, readers: UInt32? = nil) {
        self.path = path
        self.mode = mode
        self.group = group
        self.readers = readers
    }
}

/// Where apps in the device's network reach the server: TLS 1.2 with the device's key as pre-shared key.
public struct LANListenerSettings: Sendable {
    /// TCP, on every address that the device has or gets; 0 for any free port.
    public var port: Int
    public var device: DeviceKey

    public init(port: Int = ProtocolLimits.port, device: DeviceKey) {
        self.port = port
        self.device = device
    }
}
