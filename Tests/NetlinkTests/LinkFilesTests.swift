import Glibc
import NetworkNamespaces
import Testing

@testable import Netlink

@Suite struct LinkFilesTests {
    /// A folder as the kernel has it, with one modem in it that its driver does not mark, and what it says to be read.
    private func withFiles(_ body: (LinkFiles) throws -> Void) throws {
        var template = Array("/tmp/links-XXXXXX".utf8CString)
        let made = try #require(mkdtemp(&template))
        let folder = String(cString: made)
        defer { try? Shell.runBlocking("rm -r \(folder)") }
        try Shell.runBlocking(
            """
            cd \(folder)
            mkdir -p bus/usb/drivers/qmi_wwan usb1 eth1/statistics wlan0/statistics long0/statistics
            ln -s ../bus/usb/drivers/qmi_wwan usb1/driver
            ln -s ../usb1 eth1/device
            printf 'INTERFACE=eth1\\nIFINDEX=7\\n' > eth1/uevent
            printf 'INTERFACE=wlan0\\nDEVTYPE=wlan\\nIFINDEX=3\\n' > wlan0/uevent
            printf '18446744073709551615\\n' > wlan0/statistics/tx_packets
            printf -- '-1\\n' > eth1/statistics/tx_packets
            head -c 5000 /dev/zero > long0/uevent
            head -c 5000 /dev/zero > long0/statistics/tx_packets
            """)
        try body(LinkFiles(folder: folder))
    }

    @Test func readsWhatTheKernelSays() throws {
        try withFiles { files in
            #expect(files.driver(of: "eth1") == "qmi_wwan")
            #expect(files.deviceType(of: "eth1") == nil)
            #expect(files.deviceType(of: "wlan0") == "wlan")
            #expect(files.driver(of: "wlan0") == nil)
            #expect(files.deviceType(of: "long0") == nil)
            #expect(files.framesSent(of: "wlan0") == .max)
            #expect(files.framesSent(of: "eth1") == nil)
            #expect(files.framesSent(of: "long0") == nil)
        }
    }

    @Test(arguments: ["", ".", "..", "eth1/../wlan0", "missing", "a\0b"])
    func aNameThatIsNoneHasNothing(_ name: String) throws {
        try withFiles { files in
            #expect(files.deviceType(of: name) == nil)
            #expect(files.driver(of: name) == nil)
            #expect(files.framesSent(of: name) == nil)
        }
    }
}
