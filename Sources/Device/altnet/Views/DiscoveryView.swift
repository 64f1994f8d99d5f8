import DNS

/// The devices that announced themselves. What they say is anybody's text.
struct DiscoveryView {
    let devices: [ServiceInstance]

    func render(_ style: Style) -> String {
        guard !devices.isEmpty else {
            return "No device has answered. Does it announce itself, and does this network let multicast pass?"
        }
        var table = Table(columns: [
            .init(title: "NAME", minimum: 8), .init(title: "HOST", minimum: 12), .init(title: "ADDRESS", minimum: 15),
            .init(title: "PORT", isRightAligned: true), .init(title: "DEVICE ID"),
        ])
        table.rows = devices.map { device in
            [
                "\(device.name.printable)", "\(device.host.description)", "\(device.addresses.first ?? "?")",
                "\(String(device.port))", "\(device.deviceId ?? "?")",
            ]
        }
        return table.render(style)
    }
}
