/// A virtual private network: WireGuard from the device to a machine in the lab's internet, which then carries the device's
/// traffic.
public struct Tunnel: Sendable {
    /// What servers see as the address of what came through it.
    public static let address = IPv4Address(10, 202, 0, 2)

    private static let interface = "wg0"
    private static let server = IPv4Address(203, 0, 113, 51)
    private let lab: String
    private let log: String

    // Made up, and they guard nothing.
    private static let deviceKeys = (
        secret: "iGWNOx/O74BOfcy2WhIV7TDd+10TsXRVyBi3jSM2o3Y=", open: "ScsWM830PYR3tgRB8ZUI0a888+33qzuC7QAjptgoFW4="
    )
    private static let serverKeys = (
        secret: "OLhxtT+ZczDxc2ZauUclFxviMMYoCoUn1AMEmq5SN0Q=", open: "TXRfQ4XALB2dTkht5ysdeONv5O//Ut3gpagqui/cR3M="
    )

    /// Connects it, over the Wi-Fi interface `carrier` and its gateway.
    init(to upstream: NetworkNamespace, over carrier: String, gateway: IPv4Address, directory: String) throws(LabError)
    {
        lab = directory
        log = "\(directory)/commands.log"
        let name = Self.interface
        try Lab.batch(
            [
                "link add \(name) type wireguard", "address add 10.202.0.1/24 dev \(name)",
                "address add \(Self.server)/32 dev lo", "link set dev \(name) up",
            ], in: upstream, directory: directory)
        try upstream.enter { () throws(LabError) in
            try configure(
                Self.serverKeys.secret, ["listen-port", "51820"], peer: Self.deviceKeys.open,
                ["allowed-ips", "\(Self.address)/32"])
        }
        try Lab.batch(
            [
                "link add \(name) type wireguard", "address add \(Self.address)/24 dev \(name)",
                "route add \(Self.server)/32 via \(gateway) dev \(carrier)",
            ], directory: directory)
        try configure(
            Self.deviceKeys.secret, [], peer: Self.serverKeys.open,
            ["endpoint", "\(Self.server):51820", "allowed-ips", "0.0.0.0/0"])
        try Lab.batch(
            ["link set dev \(name) up", "route add default dev \(name) metric 5"], directory: directory)
    }

    private func configure(
        _ secret: String, _ own: [String], peer: String, _ peerSettings: [String]
    ) throws(LabError) {
        let file = "\(lab)/wireguard.key"
        try Lab.write(secret + "\n", to: file)
        try Program.run(
            "wg", ["set", Self.interface, "private-key", file] + own + ["peer", peer] + peerSettings, log: log)
    }

    /// Ends it: the interface is gone, with its route.
    public func disconnect() throws { try Program.run("ip", ["link", "delete", Self.interface], log: log) }
}
