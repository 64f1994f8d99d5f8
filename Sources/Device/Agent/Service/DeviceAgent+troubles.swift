extension DeviceAgent {
    func reportLimits() {
        if !Privilege.mayConfigureNetworks {
            log.error(
                """
                the agent lacks CAP_NET_ADMIN, so it can neither scan nor switch: start it as altnet.service, or as root
                """)
        }
        if let problem = StoragePlace(of: settings.keyFilePath).problem { log.error("\(problem)") }
    }
}
