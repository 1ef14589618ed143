-- MySQL dump 10.13
CREATE TABLE `a` (`id` int COMMENT 'it\'s', PRIMARY KEY (`id`), KEY `k` (`id`)) ENGINE=InnoDB;
